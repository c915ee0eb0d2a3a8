import NotifyText

/// Counts the events that one banner reports afterwards, and writes its text: how many they are, and of whom.
public struct DigestTally: Sendable {
    /// Why the events had no banner at once.
    public enum Occasion: Sendable {
        /// A schedule held their banners back.
        case quiet
        /// A screen claimed them, and the user was away already.
        case away
    }

    /// The topic of digests.
    public static let topic = topic("/notifyd/digest")
    /// The topic of what happened while the user was away.
    public static let awayTopic = topic("/notifyd/away")
    /// The bus name that stands for the daemon as a publisher. No connection has it as its unique name.
    static let sender = "org.notifyd.Router1"
    /// People and topics in the text.
    static let told = 4
    /// People and topics that are counted by name. Further ones are only counted.
    static let limit = 1000
    /// Characters of a name in the text.
    static let nameLength = 40

    /// Counted events.
    public private(set) var count = 0
    private var people = Names()
    private var topics = Names()

    private struct Names {
        var counts: [ByteString: Int] = [:]

        /// The most frequent first, then in the order of their bytes.
        var sorted: [(key: ByteString, value: Int)] {
            counts.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
        }
    }

    private let occasion: Occasion

    public init(_ occasion: Occasion = .quiet) { self.occasion = occasion }

    private static func topic(_ text: String) -> Topic {
        do { return try Topic(text) } catch { preconditionFailure("\(text) is a topic") }
    }

    /// Counts an event, and who or what it is of.
    public mutating func add(_ event: Event) {
        count += 1
        if let person = Self.person(of: event) {
            add(person, to: \.people)
        } else {
            add(event.topic.segments.joined(separator: " "), to: \.topics)
        }
    }

    private mutating func add(_ name: String, to names: WritableKeyPath<DigestTally, Names>) {
        let key = name.bytes
        guard self[keyPath: names].counts[key] != nil || people.counts.count + topics.counts.count < Self.limit else {
            return
        }
        self[keyPath: names].counts[key, default: 0] += 1
    }

    /// The field `from`, or the capture `mate` of its route.
    private static func person(of event: Event) -> String? {
        let captures = event.route.pattern?.captures(of: event.topic) ?? []
        let field = event.fields.first { $0.name == "from" }.flatMap { field in
            if case .string(let text) = field.value { text } else { nil }
        }
        guard let name = field ?? captures.first(where: { $0.name == "mate" })?.value, !name.isEmpty else { return nil }
        return name
    }

    // MARK: The digest

    /// The text of the banner, such as `9 events while it was quiet`.
    public var title: String {
        let events = count == 1 ? "1 event" : "\(count) events"
        return switch occasion {
        case .quiet: "\(events) while it was quiet"
        case .away: "\(events) while you were away"
        }
    }

    /// The people and then the topics, each with its number of events, such as `Mum (3), Jun, post 27 (5)`.
    public var body: String {
        let names = people.sorted + topics.sorted
        let told = names.prefix(Self.told).map { name, count in
            Self.shortened(name.description) + (count > 1 ? " (\(count))" : "")
        }
        let rest = names.count - told.count
        guard rest > 0 else { return told.joined(separator: ", ") }
        let others = names.count == Self.limit ? "many others" : rest == 1 ? "1 other" : "\(rest) others"
        return told.joined(separator: ", ") + " and " + others
    }

    private static func shortened(_ name: String) -> String {
        let start = name.prefix(nameLength)
        return start.endIndex == name.endIndex ? name : "\(start)…"
    }

    /// The digest as an event. A later one of the same occasion takes the place of an earlier one.
    ///
    /// - Parameter received: the wall clock, microseconds since the epoch.
    public func publication(received: Int64) -> Publication {
        var options = PublishOptions()
        let (topic, field): (Topic, String)
        switch occasion {
        case .quiet: (topic, field, options.collapse) = (Self.topic, "muted", "digest")
        case .away: (topic, field, options.collapse) = (Self.awayTopic, "claimed", "away")
        }
        return Publication(
            topic: topic, title: title, body: body, fields: [Field(name: field, value: .uint64(UInt64(count)))],
            options: options, sender: Self.sender, received: received)
    }
}
