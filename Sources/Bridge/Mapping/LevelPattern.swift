import NotifyText

/// A topic filter of MQTT whose levels may have names: `zigbee2mqtt/{room}/door` takes what comes at
/// `zigbee2mqtt/+/door`.
///
/// [MQTT 5 section 4.7](https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901241)
public struct LevelPattern: Equatable, Sendable, CustomStringConvertible {
    private enum Level: Equatable, Sendable {
        case literal(String)
        /// One level, whatever it is.
        case any(name: String?)
        /// All levels from here on, or none.
        case rest
    }

    /// As it was written.
    public let description: String
    private let levels: [Level]

    /// The longest one in bytes.
    static let maximumBytes = 255

    /// - Throws: `MapError`, which says what is wrong.
    public init(_ text: String) throws(MapError) {
        guard !text.isEmpty, text.utf8.count <= Self.maximumBytes,
            !text.unicodeScalars.contains(where: \.isActive)
        else {
            throw MapError("a filter has 1 to \(Self.maximumBytes) bytes and no control characters")
        }
        var levels: [Level] = []
        var names: [String] = []
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(String.init)
        for (index, part) in parts.enumerated() {
            let part = part ?? ""
            switch part {
            case "+": levels.append(.any(name: nil))
            case "#":
                guard index == parts.count - 1 else {
                    throw MapError("# stands for all levels from there on, so it must be the last one")
                }
                levels.append(.rest)
            case _ where part.hasPrefix("{") && part.hasSuffix("}"):
                let name = String(part.dropFirst().dropLast())
                guard name.isCaptureName else {
                    throw MapError(
                        "'\(part)' is not a capture: a capture is a whole level such as {room}, "
                            + "of letters, digits and _"
                    )
                }
                guard !names.contains(name) else { throw MapError("the capture {\(name)} is there twice") }
                names.append(name)
                levels.append(.any(name: name))
            default:
                guard !part.contains(where: { "+#{}".contains($0) }) else {
                    throw MapError("'\(part)' is not a level: +, # and captures such as {room} are whole levels")
                }
                levels.append(.literal(part))
            }
        }
        description = text
        self.levels = levels
    }

    /// The filter that the broker knows.
    public var filter: String {
        levels.map { level in
            switch level {
            case .literal(let text): text
            case .any: "+"
            case .rest: "#"
            }
        }.joined(separator: "/")
    }

    /// The names of the captures.
    public var names: [String] {
        levels.compactMap { if case .any(let name) = $0 { name } else { nil } }
    }

    /// Whether it is the name of one topic.
    public var isTopic: Bool {
        levels.allSatisfy { if case .literal = $0 { true } else { false } }
    }

    /// The captured levels of a topic; `nil` if it does not match. Topics that begin with `$` belong to the broker:
    /// only a literal level matches theirs.
    public func captures(of topic: String) -> [(name: String, value: String)]? {
        let parts = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var captures: [(name: String, value: String)] = []
        for (index, level) in levels.enumerated() {
            if index == 0, topic.utf8.first == UInt8(ascii: "$"), level != .literal(String(parts[0]) ?? "") {
                return nil
            }
            if level == .rest { return captures }
            guard index < parts.count else { return nil }
            switch level {
            case .literal(let text): if !parts[index].elementsEqual(text.utf8) { return nil }
            case .any(let name): if let name { captures.append((name, String(parts[index]) ?? "")) }
            case .rest: break
            }
        }
        return parts.count == levels.count ? captures : nil
    }

    /// Whether it matches topics of the broker, such as `$SYS/uptime`, which no wildcard does.
    private var isOfBroker: Bool {
        if case .literal(let text)? = levels.first { text.utf8.first == UInt8(ascii: "$") } else { false }
    }

    /// Whether it matches every topic that the other one matches.
    public func covers(_ other: LevelPattern) -> Bool {
        guard isOfBroker == other.isOfBroker else { return false }
        for (index, level) in levels.enumerated() {
            if level == .rest { return true }
            guard index < other.levels.count else { return false }
            switch (level, other.levels[index]) {
            case (_, .rest), (.literal, .any): return false
            case (.literal(let left), .literal(let right)): if !left.hasBytes(of: right) { return false }
            case (.any, _), (.rest, _): break
            }
        }
        return levels.count == other.levels.count
    }

    /// Whether some topic matches both.
    public func overlaps(_ other: LevelPattern) -> Bool {
        guard isOfBroker == other.isOfBroker else { return false }
        for index in 0... {
            let left = index < levels.count ? levels[index] : nil
            let right = index < other.levels.count ? other.levels[index] : nil
            switch (left, right) {
            // "a/#" matches "a" too.
            case (.rest?, _), (_, .rest?), (nil, nil): return true
            case (nil, _), (_, nil): return false
            case (.literal(let left)?, .literal(let right)?): if !left.hasBytes(of: right) { return false }
            default: break
            }
        }
        return false
    }
}

/// What is wrong with a map, or with a message for it.
public struct MapError: Error, Equatable, Sendable, CustomStringConvertible {
    /// In a sentence, without anything of the contents.
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
