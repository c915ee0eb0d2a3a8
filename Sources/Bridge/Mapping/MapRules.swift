package import NotifyText

/// Which messages of a map become events, which of these have a banner, and which event an event takes the place of.
///
/// A silent message with the `collapse` of an earlier one takes that one back: notifyd closes its banner.
public struct MapRules: Equatable, Sendable {
    /// A member of a message, such as `after.id`: the name of a member, and of a member in it.
    public typealias Member = [String]

    /// What the value of a member has to be.
    public struct Condition: Equatable, Sendable {
        public var member: Member
        /// As text. One of them is right: `*` stands for any value but an empty one, and an empty text for none.
        public var values: [String]

        public init(_ member: Member, _ values: [String]) {
            self.member = member
            self.values = values
        }

        fileprivate func holds(in message: JSON) -> Bool {
            let value = message.value(at: member)
            // Of a list, one element has to be right.
            let texts = value?.elements.map { $0.isEmpty ? [""] : $0.map(\.plainText) } ?? [value?.plainText ?? ""]
            return texts.contains { text in values.contains { $0 == "*" ? !text.isEmpty : $0.hasBytes(of: text) } }
        }
    }

    /// Alternatives: one of them holds if all its conditions do.
    public typealias Conditions = [[Condition]]

    /// Other messages are left out.
    public var only: Conditions?
    /// These messages are left out.
    public var except: Conditions?
    /// Other messages are silent.
    public var banner: Conditions?
    /// These messages are silent.
    public var silent: Conditions?
    /// An event takes the place of the earlier one with the same value of this member.
    public var collapse: Member?
    /// Becomes one of ``MessageUrgency/words``; other texts count as none.
    public var urgency: MessageTemplate?

    public init() {}

    /// The keys of a configuration that say all this.
    public static let keys = ["only", "except", "banner", "silent", "collapse", "urgency"]

    /// Conditions as a configuration has them.
    public typealias ReadConditions = [[(member: Member, values: [String])]]

    /// Reads the conditions of a configuration.
    ///
    /// - Parameter read: those of a key; whether true and false may stand for them.
    public init(read: (_ key: String, _ orBoolean: Bool) -> ReadConditions?) {
        func conditions(_ key: String, orBoolean: Bool = false) -> Conditions? {
            read(key, orBoolean)?.map { $0.map { Condition($0.member, $0.values) } }
        }
        only = conditions("only")
        except = conditions("except")
        banner = conditions("banner", orBoolean: true)
        silent = conditions("silent")
    }

    /// The longest `collapse` that notifyd takes, in bytes.
    private static let maximumCollapse = 256

    /// The members that are named, but those in ``urgency``.
    public var members: [Member] {
        [only, except, banner, silent].compactMap(\.self).joined().joined().map(\.member)
            + (collapse.map { [$0] } ?? [])
    }

    /// The first parts of all names.
    package var names: Set<String> { Set(members.compactMap(\.first)).union(urgency?.names ?? []) }

    /// Whether a message becomes an event.
    package func takes(_ message: JSON) -> Bool {
        only.map { Self.holds($0, message) } ?? true && !(except.map { Self.holds($0, message) } ?? false)
    }

    /// Whether the event of a message has no banner.
    package func isSilent(_ message: JSON) -> Bool {
        !(banner.map { Self.holds($0, message) } ?? true) || silent.map { Self.holds($0, message) } ?? false
    }

    /// The option `collapse` of the event; `nil` if the message does not have the member.
    package func collapse(of message: JSON) -> String? {
        guard let text = collapse.flatMap({ message.value(at: $0) })?.plainText, !text.isEmpty else { return nil }
        guard text.utf8.count > Self.maximumCollapse else { return text }
        // The checksum of the whole text tells those with the same beginning apart.
        return text.beginning(ofBytes: Self.maximumCollapse - 17) + " " + String(FNV1a.sum(of: text.utf8), radix: 16)
    }

    /// The urgency of the event; `nil` if the message has none.
    ///
    /// - Throws: `MapError` if the text becomes too long.
    package func urgency(of message: JSON) throws(MapError) -> UInt8? {
        try urgency.flatMap { template throws(MapError) in MessageUrgency.number(of: try template.render(message)) }
    }

    private static func holds(_ conditions: Conditions, _ message: JSON) -> Bool {
        conditions.contains { $0.allSatisfy { $0.holds(in: message) } }
    }
}

/// The urgencies of Web Push ([RFC 8030 section 5.3](https://www.rfc-editor.org/rfc/rfc8030#section-5.3)) and of
/// notifyd.
public enum MessageUrgency {
    package static let words = ["very-low", "low", "normal", "high", "critical"]

    /// `nil` for anything else.
    package static func number(of text: String) -> UInt8? {
        switch text {
        case "very-low", "low", "0": 0
        case "normal", "1": 1
        case "high", "critical", "2": 2
        default: nil
        }
    }

    /// The key `urgency` of a map: a word, or a template that becomes one.
    ///
    /// - Throws: `MapError` if it is neither.
    public static func template(_ text: String) throws(MapError) -> MessageTemplate {
        let template = try MessageTemplate(text)
        guard !template.names.isEmpty || number(of: text) != nil else {
            let words = words.map { "\"\($0)\"" }.joined(separator: ", ")
            throw MapError("it must be one of \(words), or a template such as \"{{priority}}\"")
        }
        return template
    }
}

extension JSON {
    /// The value of a member, or of a member of a member.
    func value(at member: MapRules.Member) -> JSON? {
        var value: JSON? = self
        for name in member { value = value?[name] }
        return value
    }
}
