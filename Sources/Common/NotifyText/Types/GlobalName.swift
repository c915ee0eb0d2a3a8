/// The global name of an event: `source` and `event-id` where it was published with both, else `notifyd:` and the
/// device, and its id in decimal; org.notifyd.Router1(5). Names are compared by their bytes.
public struct GlobalName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// In bytes of UTF-8, each half.
    public static let maximumBytes = 255
    /// The source of an event that stays on its device begins with this.
    public static let localSource = "local:"
    /// The source of an event that has no name of its own: this, and the device.
    private static let devicePrefix = "notifyd:"

    private let sourceBytes: ByteString
    private let idBytes: ByteString

    public init(source: String, eventID: String) {
        sourceBytes = ByteString(source)
        idBytes = ByteString(eventID)
    }

    /// Of an event that was published without one.
    ///
    /// - Parameter device: the property `Device` of notifyd.
    public init(device: String, id: UInt64) {
        self.init(source: Self.source(of: device), eventID: "\(id)")
    }

    /// The source of the events that a device names itself.
    public static func source(of device: String) -> String { devicePrefix + device }

    /// Where the event comes from.
    public var source: String { sourceBytes.description }
    /// Its name there.
    public var eventID: String { idBytes.description }
    /// The device on which it was published, where notifyd gave the name.
    public var deviceName: Substring? {
        source.utf8.starts(with: Self.devicePrefix.utf8) ? source.dropFirst(Self.devicePrefix.count) : nil
    }
    /// Whether the event stays on its device: neither it nor its claims are sent to others.
    public var isLocal: Bool { source.utf8.starts(with: Self.localSource.utf8) }
    public var description: String { "\(source) \(eventID)" }

    public static func < (left: GlobalName, right: GlobalName) -> Bool {
        left.sourceBytes == right.sourceBytes ? left.idBytes < right.idBytes : left.sourceBytes < right.sourceBytes
    }
}

/// Which of two values or removals of a topic is newer: the one that was published later, and of two at the same time
/// the one with the greater global name. Every device decides the same, in whatever order they arrive; rule 7 of
/// docs/link.md.
public struct ValueStamp: Comparable, Hashable, Sendable {
    /// Microseconds since the epoch.
    public var published: Int64
    public var name: GlobalName

    public init(published: Int64, name: GlobalName) {
        self.published = published
        self.name = name
    }

    public static func < (left: ValueStamp, right: ValueStamp) -> Bool {
        left.published == right.published ? left.name < right.name : left.published < right.published
    }
}
