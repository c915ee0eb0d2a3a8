import NotifyText

/// Records of a line as the program stores them: JSON under `LINE/line`, `LINE/device/DEVICE` and `LINE/value/DIGEST`.
public struct RecordCoding: Sendable {
    /// The line's name and a slash.
    public let prefix: String
    /// The key of the record `line`.
    public var lineKey: String { prefix + "line" }

    public init(line: String) {
        prefix = line + "/"
    }

    /// - Returns: the key of a record, and what is stored there; `nil`: nothing is.
    public func encode(_ record: Record) -> (key: String, value: [UInt8]?) {
        switch record {
        case .line(let line): (lineKey, line.json.bytes)
        case .device(let device, let record): ("\(prefix)device/\(device)", record?.json.bytes)
        case .value(let digest, let value): ("\(prefix)value/\(digest)", value?.json.bytes)
        }
    }

    /// - Returns: `nil` if it is not a record of this line, or cannot be read.
    public func decode(_ key: String, _ bytes: [UInt8]) -> Record? {
        guard key.hasPrefix(prefix), let json = try? JSONParser.parse(bytes) else { return nil }
        let parts = key.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        let members = MemberReader(json)
        switch (parts.first, parts.count) {
        case ("line", 1): return (try? LineRecord(members)).map { .line($0) }
        case ("device", 2):
            guard let device = Device(parts[1]), let record = try? DeviceRecord(members) else { return nil }
            return .device(device, record)
        case ("value", 2):
            guard let digest = Digest(parts[1]), let value = try? ValueRecord(members) else { return nil }
            return .value(digest, value)
        default: return nil
        }
    }
}

extension LineRecord {
    fileprivate var json: JSON {
        [
            "first": first, "scanned": cursor.scanned, "said": cursor.sent, "seen": seen, "connection": connection,
            "counter": counter, "joined": hasJoined, "version": version,
        ]
    }

    fileprivate init(_ members: MemberReader) throws(MessageError) {
        self.init(
            first: try members.integer("first"),
            cursor: Cursor(scanned: try members.integer("scanned"), sent: try members.integer("said")),
            seen: try members.integer("seen"), connection: try members.integer("connection"),
            counter: try members.integer("counter"), hasJoined: try members.flag("joined"),
            version: try members.integer("version"))
    }
}

extension DeviceRecord {
    fileprivate var json: JSON {
        .object(present: [
            "taken": received, "missing": Self.json(missing), "unknown": Self.json(unknown),
            "checkpoints": checkpoints.map { [$0.own, $0.theirs] }, "name": name, "seen": seen,
            "silent": silentSince ?? 0, "start": start, "provisional": JSON.ifTrue(isStartProvisional),
            "signer": signer?.rawValue,
        ])
    }

    private static func json(_ ranges: [Range<UInt64>]) -> [[UInt64]] { ranges.map { [$0.lowerBound, $0.upperBound] } }

    fileprivate init(_ members: MemberReader) throws(MessageError) {
        self.init(seen: try members.integer("seen"))
        received = try members.integer("taken")
        name = try members.text("name")
        missing = try members.ranges("missing")
        unknown = try members.ranges("unknown")
        checkpoints = try members.pairs("checkpoints").map { Checkpoint(own: $0.0, theirs: $0.1) }
        start = try members.optionalInteger("start")
        isStartProvisional = try members.optionalFlag("provisional")
        signer = try members.optionalText("signer").map(Signer.init)
        // Records of before have no such member.
        let isSilent = start.map { $0 == received } ?? true
        silentSince = try members.optionalInteger("silent").map { $0 == 0 ? nil : $0 } ?? (isSilent ? seen : nil)
    }
}

extension MemberReader {
    fileprivate func pairs(_ name: String) throws(MessageError) -> [(UInt64, UInt64)] {
        guard let elements = json[name]?.elements else { throw MessageError("\"\(name)\" is not an array") }
        return try elements.map { element throws(MessageError) -> (UInt64, UInt64) in
            guard let numbers = element.elements, numbers.count == 2, let first: UInt64 = numbers[0].integer(),
                let second: UInt64 = numbers[1].integer()
            else { throw MessageError("\"\(name)\" holds something other than pairs") }
            return (first, second)
        }
    }

    fileprivate func ranges(_ name: String) throws(MessageError) -> [Range<UInt64>] {
        try pairs(name).map { (after, through) throws(MessageError) -> Range<UInt64> in
            guard after < through else { throw MessageError("\"\(name)\" has an empty range") }
            return after..<through
        }
    }
}

extension ValueRecord {
    fileprivate var json: JSON {
        [
            "number": number, "topic": topic.description, "published": stamp.published, "source": stamp.name.source,
            "event-id": stamp.name.eventID, "expires": expires, "removal": isRemoval,
        ]
    }

    fileprivate init(_ members: MemberReader) throws(MessageError) {
        self.init(
            number: try members.integer("number"), topic: try members.topic(),
            stamp: ValueStamp(published: try members.integer("published"), name: try members.name()),
            expires: try members.integer("expires"), isRemoval: try members.flag("removal"))
        guard number > 0 else { throw MessageError("\"number\" is not above 0") }
    }
}
