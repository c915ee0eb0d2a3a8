public import NotifyText

/// What one device tells others: a JSON object on a topic of the broker. See docs/link.md.
public struct Message: Equatable, Sendable {
    /// The version of the protocol that this module speaks.
    public static let version = 1
    /// The longest message on the broker in bytes; see docs/link.md.
    public static let maximumBytes = 256 << 10
    /// The longest JSON text in bytes. Sealed and signed it still fits `maximumBytes`.
    public static let maximumTextBytes = 180 << 10
    /// Bytes of a text beside those of what is said, at most.
    public static let longestFrame = 1024
    /// What a broker must take at least, as a text in bytes: everything but long events fits.
    public static let shortestLimit = 4096

    /// Who says it. On the topics of a device it is that device; on `v/`, `r/` and `u/` nothing else says it.
    public var device: Device
    /// The clock of that device when it said this, in microseconds since the epoch.
    public var at: Int64
    /// What it says.
    public var body: Body

    public init(device: Device, at: Int64, body: Body) {
        self.device = device
        self.at = at
        self.body = body
    }

    /// The kinds of messages.
    public enum Body: Equatable, Sendable {
        /// Something of the stream of a device, on `s/` and, the current values, on `v/`.
        case said(Said)
        /// On `d/`.
        case description(Description)
        /// On `o/`.
        case presence(Presence)
        /// On `r/`.
        case question(Question)
        /// On `u/`.
        case answer(Answer)
        /// On `r/`: whether the device is there. `pong` answers with the same number.
        case ping(UInt64)
        /// On `u/`.
        case pong(UInt64)
    }
}

/// One thing that a device says in its stream.
public struct Said: Equatable, Sendable {
    /// The number of the row in the journal of the device.
    public var number: UInt64
    /// The number of what it said before on this line: between the two it said nothing.
    public var previous: UInt64
    /// What it says.
    public var content: Content

    /// The kinds of things said.
    public enum Content: Equatable, Sendable {
        case event(SaidEvent)
        case claim(SaidClaim)
        case removal(SaidRemoval)
        /// Nothing: it only says that nothing stands between `previous` and `number`.
        case nothing
        /// A kind, or a version of the protocol, that is not known here. It is asked for again after an upgrade.
        case unknown
        /// A known kind that cannot be read, and why.
        case malformed(String)
    }
}

/// An event, as `Publish` takes it.
public struct SaidEvent: Equatable, Sendable {
    public var name: GlobalName
    public var topic: Topic
    public var title: String
    public var body: String
    public var fields: Fields
    /// The options for banners, as published.
    public var options: Fields
    /// Microseconds since the epoch by the publisher's clock.
    public var published: Int64
    /// The end of its lifetime by the clock of the device that says it.
    public var expires: Int64
    /// Whether it was published as the current value of its topic.
    public var isRetained: Bool
    /// Whether the publisher wants no banner.
    public var isSilent: Bool
    /// Its urgency, where the publisher set one.
    public var urgency: UInt8?
    /// What has become of it there when this was said.
    public var outcome: String

    public init(
        name: GlobalName, topic: Topic, title: String, body: String, fields: Fields = [:], options: Fields = [:],
        published: Int64, expires: Int64, isRetained: Bool = false, isSilent: Bool = false, urgency: UInt8? = nil,
        outcome: String = ""
    ) {
        self.name = name
        self.topic = topic
        self.title = title
        self.body = body
        self.fields = fields
        self.options = options
        self.published = published
        self.expires = expires
        self.isRetained = isRetained
        self.isSilent = isSilent
        self.urgency = urgency
        self.outcome = outcome
    }
}

/// A claim of any form, as `ClaimNamed` takes it.
public struct SaidClaim: Equatable, Sendable {
    /// What the claim is.
    public enum Form: String, CaseIterable, Sendable {
        /// Claimed, in time or late.
        case claimed
        /// The banner was closed by the user.
        case dismissed
        /// The publisher took it back.
        case withdrawn
        /// Seen, with no other effect.
        case read
    }

    /// The event.
    public var name: GlobalName
    /// Its topic.
    public var topic: Topic
    public var form: Form
    /// Where, for people.
    public var place: String
    /// The end of the event's lifetime, by the clock of the device; `nil` where it is not known.
    public var expires: Int64?

    public init(name: GlobalName, topic: Topic, form: Form, place: String, expires: Int64? = nil) {
        self.name = name
        self.topic = topic
        self.form = form
        self.place = place
        self.expires = expires
    }
}

/// The removal of a topic's current value by a publisher.
public struct SaidRemoval: Equatable, Sendable {
    /// The removal's own name.
    public var name: GlobalName
    public var topic: Topic
    /// Microseconds since the epoch.
    public var published: Int64

    public init(name: GlobalName, topic: Topic, published: Int64) {
        self.name = name
        self.topic = topic
        self.published = published
    }
}

/// What a device says of itself.
public struct Description: Equatable, Sendable {
    /// Grows with every description of this device.
    public var counter: UInt64
    /// Its name, for people.
    public var name: String
    /// Where its stream on this line begins: what comes after this number was said, or is still to be said.
    public var first: UInt64
    /// The last number it has said on this line.
    public var last: UInt64
    /// The topics that its user looks at.
    public var attended: [Digest]

    public init(counter: UInt64, name: String, first: UInt64, last: UInt64, attended: [Digest] = []) {
        self.counter = counter
        self.name = name
        self.first = first
        self.last = last
        self.attended = attended
    }
}

/// Whether a device is connected. The will of a connection says that it is not.
public struct Presence: Equatable, Sendable {
    /// The number of the connection; it grows.
    public var connection: UInt64
    public var isOnline: Bool
    /// Whether it has found that two machines share this device: all that do must stop.
    public var isShared = false
    /// Whether it has left the line, and does not come back.
    public var hasLeft = false
}

/// A question for a range of a device's stream.
public struct Question: Equatable, Sendable {
    /// Random; the answer names it.
    public var id: UInt64
    /// The numbers above this …
    public var after: UInt64
    /// … up to this one are missing.
    public var through: UInt64
}

/// An answer. It says all that there is in its range; what is not in it is not shared or gone.
public struct Answer: Equatable, Sendable {
    /// Of the question.
    public var id: UInt64
    public var after: UInt64
    /// The end of what is covered; `after` if nothing is.
    public var through: UInt64
    /// In ascending order, with numbers in the range.
    public var items: [Said]
    /// Milliseconds until a further question will be answered.
    public var wait: UInt32 = 0
}

/// Why bytes are not a message.
public struct MessageError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, without anything of the message's texts.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A topic on the broker, below the prefix of the line. What may be written there and whether the broker keeps it
/// stands in [`docs/link.md`].
public enum Address: Hashable, Sendable, CustomStringConvertible {
    /// `s/DEVICE`: what a device says, in order.
    case stream(Device)
    /// `v/FIRST/DIGEST`: the current value of a topic, or its removal; retained. `FIRST` is the first digit of the
    /// digest, so that values can be read in parts: ``valueParts``.
    case value(Digest)
    /// `d/DEVICE`: the description of a device; retained.
    case description(Device)
    /// `o/DEVICE`: whether a device is online; retained.
    case presence(Device)
    /// `r/DEVICE`: questions to a device.
    case questions(Device)
    /// `u/DEVICE`: answers for a device.
    case answers(Device)

    /// `nil` if the text is no such topic.
    public init?(_ text: Substring) {
        guard let slash = text.utf8.dropFirst().first, slash == UInt8(ascii: "/") else { return nil }
        let rest = text[text.utf8.index(text.startIndex, offsetBy: 2)...]
        switch text.utf8.first {
        case UInt8(ascii: "s"): self.init(Device(rest).map(Address.stream))
        case UInt8(ascii: "v"):
            let digest = rest.dropFirst(2)
            guard rest.prefix(2) == "\(digest.prefix(1))/" else { return nil }
            self.init(Digest(digest).map(Address.value))
        case UInt8(ascii: "d"): self.init(Device(rest).map(Address.description))
        case UInt8(ascii: "o"): self.init(Device(rest).map(Address.presence))
        case UInt8(ascii: "r"): self.init(Device(rest).map(Address.questions))
        case UInt8(ascii: "u"): self.init(Device(rest).map(Address.answers))
        default: return nil
        }
    }

    /// `nil` if the text is no such topic.
    public init?(_ text: String) { self.init(text[...]) }

    private init?(_ address: Address?) {
        guard let address else { return nil }
        self = address
    }

    public var description: String {
        switch self {
        case .stream(let device): "s/\(device)"
        case .value(let digest): "v/\(digest.description.prefix(1))/\(digest)"
        case .description(let device): "d/\(device)"
        case .presence(let device): "o/\(device)"
        case .questions(let device): "r/\(device)"
        case .answers(let device): "u/\(device)"
        }
    }

    /// Topic filters that together match all values.
    public static let valueParts = "0123456789abcdef".map { "v/\($0)/+" }

    /// Who writes there, if it is always the same device.
    public var author: Device? {
        switch self {
        case .stream(let device), .description(let device), .presence(let device): device
        case .value, .questions, .answers: nil
        }
    }

    /// Whether the broker keeps the last message for those who subscribe later.
    public var isRetained: Bool {
        switch self {
        case .value, .description, .presence: true
        case .stream, .questions, .answers: false
        }
    }
}

/// A journal on a machine: the property `Device` of notifyd, 32 lower-case hexadecimal digits; org.notifyd.Router1(5).
public struct Device: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The digits.
    public let description: String

    /// `nil` if the text is anything else.
    public init?(_ text: Substring) {
        let isDigit: (UInt8) -> Bool = {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        guard text.utf8.count == 32, text.utf8.allSatisfy(isDigit) else { return nil }
        description = String(text)
    }

    /// `nil` if the text is anything else.
    public init?(_ text: String) { self.init(text[...]) }

    public static func < (left: Device, right: Device) -> Bool { left.description < right.description }
}

/// The name of a topic on the broker: 32 lower-case hexadecimal digits of its SHA-256, keyed if the line is sealed. The
/// shell computes it; see docs/link.md.
public struct Digest: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The digits.
    public let description: String

    /// `nil` if the text is anything else.
    public init?(_ text: Substring) {
        guard let device = Device(text) else { return nil }
        description = device.description
    }

    /// `nil` if the text is anything else.
    public init?(_ text: String) { self.init(text[...]) }

    public static func < (left: Digest, right: Digest) -> Bool { left.description < right.description }
}

/// The global name of an event: `source` and `event-id` where it was published with both, else `notifyd:` + Device, and
/// its id in decimal; org.notifyd.Router1(5). Names are compared by their bytes.
public struct GlobalName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// In bytes of UTF-8, each half.
    public static let maximumBytes = 255
    /// The source of an event that stays on its device begins with this.
    public static let localSource = "local:"

    /// Whether the event stays on its device: nobody else hears of it, nor of its claims.
    public var isLocal: Bool { source.utf8.starts(with: Self.localSource.utf8) }

    private let sourceBytes: ByteString
    private let idBytes: ByteString

    public init(source: String, eventID: String) {
        sourceBytes = ByteString(source)
        idBytes = ByteString(eventID)
    }

    /// Of an event that was published without one.
    public init(device: Device, id: UInt64) {
        self.init(source: Self.prefix + device.description, eventID: "\(id)")
    }

    private static let prefix = "notifyd:"

    /// Where the event comes from.
    public var source: String { sourceBytes.description }
    /// Its name there.
    public var eventID: String { idBytes.description }
    /// Whether notifyd gave the name.
    public var isOfDevice: Bool { source.utf8.starts(with: Self.prefix.utf8) }
    /// The device on which it was published, where the name says that.
    public var device: Device? { isOfDevice ? Device(source.dropFirst(Self.prefix.count)) : nil }
    public var description: String { "\(source) \(eventID)" }

    public static func < (left: GlobalName, right: GlobalName) -> Bool {
        left.sourceBytes == right.sourceBytes ? left.idBytes < right.idBytes : left.sourceBytes < right.sourceBytes
    }
}
