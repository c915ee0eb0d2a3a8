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
