import NotifyText

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
