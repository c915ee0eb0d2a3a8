internal import UserFiles

/// Why a call of ``NotifyClient`` failed.
///
/// ``code`` is the kind of failure, and ``message`` a sentence for people. Neither holds the title or the body of an
/// event.
public struct NotifyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure. More kinds may come, so a `switch` over it needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The kind in a word, such as `notReachable`.
        public let description: String

        /// There is no bus, or no notifyd on it. Trying again later may help.
        public static let notReachable = Code(description: "notReachable")
        /// The daemon (or the bus) answered with an error: see ``NotifyError/name``.
        public static let refused = Code(description: "refused")
        /// No reply arrived in time.
        public static let timedOut = Code(description: "timedOut")
        /// The call was not made because an argument is invalid.
        public static let invalidArgument = Code(description: "invalidArgument")
        /// A sequence ended because its reader fell too far behind.
        public static let readerTooSlow = Code(description: "readerTooSlow")
        /// The client was closed.
        public static let closed = Code(description: "closed")
        /// The task that waited for the reply was cancelled.
        public static let cancelled = Code(description: "cancelled")
    }

    /// The kind of failure.
    public let code: Code
    /// The D-Bus error name, such as `org.notifyd.Router1.Error.InvalidTopic`, if the failure is a D-Bus error.
    public let name: String?
    /// What was wrong, in a sentence.
    public let message: String

    package init(_ code: Code, _ message: String, name: String? = nil) {
        self.code = code
        self.name = name
        self.message = message
    }

    public var description: String { name.map { "\(message) (\($0))" } ?? message }
}

extension NotifyError {
    /// The error name with which a daemon replies that cannot start because of its configuration.
    package static let badConfiguration = "org.freedesktop.DBus.Error.InvalidFileContent"

    /// Whether an error name is that of the bus for a daemon that cannot be started, or of a service manager that does
    /// not start it: its unit is masked, or there is none.
    package static func saysThatNothingStarted(_ name: String) -> Bool {
        name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") || name.hasPrefix("org.freedesktop.systemd1.")
    }

    /// The error name with which the bus answers for a daemon that has left it.
    package static let noReply = "org.freedesktop.DBus.Error.NoReply"

    /// The error name with which a daemon replies that is too old to have a method.
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"

    package static var noSessionBus: NotifyError {
        NotifyError(.notReachable, "No session bus is known: \(BaseDirectories().noSessionBus).")
    }
    static let clientClosed = NotifyError(.closed, "The client was closed.")
    static let lost = NotifyError(.notReachable, "The connection to the message bus is gone.")
    static let cancelled = NotifyError(.cancelled, "The call was cancelled.")
    static let noMemory = NotifyError(.invalidArgument, "The message is too large to be built.")
    package static let strangeReply = NotifyError(
        .refused, "The answer does not have the form of org.notifyd.Router1. Is another program using the name?")

    /// Translates a D-Bus error.
    init(name: String, text: String?, fromBus: Bool) {
        // It goes into logs and messages, and the other side may send anything.
        let text = text.map { $0.utf8.count > 4096 ? String($0.prefix(1000)) + "…" : $0 } ?? "no message was given"
        switch name {
        case Self.noReply where fromBus:
            self.init(.notReachable, "It left the bus before it answered.", name: name)
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
            "org.freedesktop.DBus.Error.Disconnected", Self.badConfiguration,
            _ where Self.saysThatNothingStarted(name):
            self.init(.notReachable, text, name: name)
        default:
            self.init(.refused, text, name: name)
        }
    }
}
