public import NotifyText

/// What one device sends to others: a JSON object on a topic of the broker. See docs/link.md.
public struct Message: Equatable, Sendable {
    /// The version of the protocol that this module speaks.
    public static let version = 1
    /// The longest message on the broker in bytes; see docs/link.md.
    public static let maximumBytes = 256 << 10
    /// The longest JSON text in bytes. Sealed and signed it still fits `maximumBytes`.
    public static let maximumTextBytes = 180 << 10
    /// The most bytes that a text has beside its entries.
    public static let longestFrame = 1024
    /// What a broker must accept at least, as a text in bytes: everything but long events fits.
    public static let shortestLimit = 4096

    /// The sender. On the topics of a device it is that device; on `v/`, `r/` and `u/` nothing else names the sender.
    public var device: Device
    /// The clock of the sender when it sent this, in microseconds since the epoch.
    public var at: Int64
    public var body: Body

    /// The kinds of messages.
    public enum Body: Equatable, Sendable {
        /// An entry of the stream of a device, on `s/` and, the current values, on `v/`.
        case entry(StreamEntry)
        /// On `d/`.
        case description(Description)
        /// On `o/`.
        case presence(Presence)
        /// On `r/`.
        case question(Question)
        /// On `u/`.
        case answer(Answer)
        /// On `r/`. The device answers with a `pong` of the same number.
        case ping(UInt64)
        /// On `u/`.
        case pong(UInt64)
    }
}

/// An entry of the stream of a device: a row of its journal that is shared.
public struct StreamEntry: Equatable, Sendable {
    /// The number of the row in the journal of the device.
    public var number: UInt64
    /// The number of the entry before it on this line.
    public var previous: UInt64
    public var content: Content

    /// The kinds of entries.
    public enum Content: Equatable, Sendable {
        case event(SharedEvent)
        case claim(SharedClaim)
        case removal(SharedRemoval)
        /// Shows that there is no entry between `previous` and `number`.
        case nothing
        /// A kind, or a version of the protocol, that is not known here. It is requested again after an upgrade.
        case unknown
        /// A known kind that cannot be read, and why.
        case malformed(String)

        /// The event or removal that it is about, and its topic.
        public var subject: (name: GlobalName, topic: Topic)? {
            switch self {
            case .event(let event): (event.name, event.topic)
            case .claim(let claim): (claim.name, claim.topic)
            case .removal(let removal): (removal.name, removal.topic)
            case .nothing, .unknown, .malformed: nil
            }
        }
    }
}

/// An event, as `Publish` takes it.
public struct SharedEvent: Equatable, Sendable {
    public var name: GlobalName
    public var topic: Topic
    public var title: String
    public var body: String
    public var fields: Fields = [:]
    /// The options for banners, as published.
    public var options: Fields = [:]
    /// Microseconds since the epoch by the publisher's clock.
    public var published: Int64
    /// The end of its lifetime by the clock of the sender.
    public var expires: Int64
    /// Whether it was published as the current value of its topic.
    public var isRetained = false
    /// Whether the publisher wants no banner.
    public var isSilent = false
    /// Its urgency, where the publisher set one.
    public var urgency: UInt8?
    /// Its outcome on the sender's device when this was sent; empty for none.
    public var outcome = ""
}

/// A claim of any form, as `ClaimNamed` takes it.
public struct SharedClaim: Equatable, Sendable {
    /// What the claim is.
    public enum Form: String, CaseIterable, Sendable {
        /// Claimed, in time or late.
        case claimed
        /// The banner was closed by the user.
        case dismissed
        /// The publisher withdrew it.
        case withdrawn
        /// Seen, with no other effect.
        case read
    }

    /// The event.
    public var name: GlobalName
    /// Its topic.
    public var topic: Topic
    public var form: Form
    /// Where it was made, for people.
    public var place: String
    /// The end of the event's lifetime, by the clock of the sender; `nil` where it is not known.
    public var expires: Int64?
}

/// The removal of a topic's current value by a publisher.
public struct SharedRemoval: Equatable, Sendable {
    /// The removal's own name.
    public var name: GlobalName
    public var topic: Topic
    /// Microseconds since the epoch.
    public var published: Int64
}

/// What a device tells about itself.
public struct Description: Equatable, Sendable {
    /// Grows with every description of this device.
    public var counter: UInt64
    /// Its name, for people.
    public var name: String
    /// Where its stream on this line begins: its entries have greater numbers.
    public var first: UInt64
    /// The number of its last entry on this line.
    public var last: UInt64
    /// The topics that its user looks at.
    public var attended: [Digest] = []
}

/// Whether a device is connected. The will of a connection says that it is not.
public struct Presence: Equatable, Sendable {
    /// The number of the connection; it grows.
    public var connection: UInt64
    public var isOnline: Bool
    /// Whether it has found that two machines share this device: all that do must stop.
    public var isDuplicated = false
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

/// An answer: all entries of a range. What is not in it is not shared, or gone.
public struct Answer: Equatable, Sendable {
    /// Of the question.
    public var id: UInt64
    public var after: UInt64
    /// The end of what is covered; `after` if nothing is.
    public var through: UInt64
    /// In ascending order, with numbers in the range.
    public var items: [StreamEntry]
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
    /// `s/DEVICE`: the stream of a device.
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

    /// `nil` if the text is anything else.
    public init?(_ text: some StringProtocol) {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = levels.last, levels.count == (levels[0] == "v" ? 3 : 2) else { return nil }
        let address: Address? =
            switch levels[0] {
            case "s": Device(name).map(Address.stream)
            case "v": levels[1] == name.prefix(1) ? Digest(name).map(Address.value) : nil
            case "d": Device(name).map(Address.description)
            case "o": Device(name).map(Address.presence)
            case "r": Device(name).map(Address.questions)
            case "u": Device(name).map(Address.answers)
            default: nil
            }
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
    public init?(_ text: some StringProtocol) {
        let isDigit: (UInt8) -> Bool = {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        guard text.utf8.count == 32, text.utf8.allSatisfy(isDigit) else { return nil }
        description = String(text)
    }

    public static func < (left: Device, right: Device) -> Bool { left.description < right.description }
}

/// The name of a topic on the broker: 32 lower-case hexadecimal digits of its SHA-256, keyed if the line is sealed. The
/// shell computes it; see docs/link.md.
public struct Digest: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The digits.
    public let description: String

    /// `nil` if the text is anything else.
    public init?(_ text: some StringProtocol) {
        guard let device = Device(text) else { return nil }
        description = device.description
    }

    public static func < (left: Digest, right: Digest) -> Bool { left.description < right.description }
}

extension GlobalName {
    /// Of an event that was published without one.
    public init(device: Device, id: UInt64) { self.init(device: device.description, id: id) }

    /// The device on which it was published, where the name says that.
    public var device: Device? { deviceName.flatMap { Device($0) } }
}
