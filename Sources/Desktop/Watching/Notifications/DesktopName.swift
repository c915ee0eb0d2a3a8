import Mapping

/// A banner on the desktop.
public enum BannerKey: Hashable, Sendable {
    /// By the number that the notification server has given it.
    case number(UInt32)
    /// One of `org.gtk.Notifications`: the application, and its own name for it.
    case gtk(app: String, id: String)

    var text: String {
        switch self {
        case .number(let number): "\(number)"
        case .gtk(let app, let id): "gtk:\(app):\(id)"
        }
    }

    var isNumber: Bool { if case .number = self { true } else { false } }

    init?(_ text: Substring) {
        if let number = UInt32(text) {
            self = .number(number)
            return
        }
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "gtk" else { return nil }
        self = .gtk(app: String(parts[1]), id: String(parts[2]))
    }
}

/// The call by which a program shows something: the bus and the program are told apart by their names, the calls of a
/// program by their serial numbers, so that no other call ever has the same.
public struct CallID: Hashable, Sendable {
    /// The unique name of the program.
    public let sender: String
    public let serial: UInt32

    public init(sender: String, serial: UInt32) { (self.sender, self.serial) = (sender, serial) }
}

/// Who shows banners: a bus, and the unique name of the notification server on it. Numbers of banners begin again with
/// another one.
public struct ServerID: Hashable, Sendable {
    /// The id of the bus.
    public let bus: String
    /// Empty: there is none.
    public let name: String

    public init(bus: String, name: String) { (self.bus, self.name) = (bus, name) }

    var text: String { "\(bus)/\(name)" }
}

/// The name of the event of a notification: `BUS/SERVER/SENDER-SERIAL/BANNER`. It says which banner to close also after
/// a restart.
public struct DesktopName: Hashable, Sendable {
    /// The source of events that other devices get, and of those that stay here.
    public static let source = (shared: "desktop", local: String.privateSource)

    /// The option `event-id`.
    public let eventID: String
    /// The option `source`.
    public let source: String

    public init(_ server: ServerID, _ call: CallID, _ key: BannerKey?, isShared: Bool) {
        let banner = (key?.text ?? "").beginning(ofBytes: 160)
        eventID = "\(server.text)/\(call.sender)-\(call.serial)/\(banner)"
        source = isShared ? Self.source.shared : Self.source.local
    }

    /// What is the same for everything that is said of one banner: its key, or the whole name where that is not known.
    public var lane: String {
        guard let slash = eventID.lastIndex(of: "/"), eventID.index(after: slash) < eventID.endIndex else {
            return eventID
        }
        return String(eventID[slash...])
    }

    /// The banner of an event that this program has published.
    ///
    /// - Returns: `nil` for every other event, and for one whose banner is not on this server.
    static func banner(ofEventID text: String, on server: ServerID) -> BannerKey? {
        guard text.hasPrefix(server.text + "/") else { return nil }
        let parts = text.dropFirst(server.text.count + 1).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? BannerKey(parts[1]) : nil
    }

    /// A name as it is in the journal.
    public init(eventID: String, source: String) { (self.eventID, self.source) = (eventID, source) }

    /// Whether an event is one of this program's.
    public static func isSource(_ text: String) -> Bool { text == source.shared || text == source.local }
}
