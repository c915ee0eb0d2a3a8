extension NotificationServer {
    /// Behaviour of real servers that differs from the specification.
    package struct Quirks: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// A banner with the same text as a shown one is an error, even if it replaces that one. Plasma allows it after
        /// a second; this server never does, so that no test depends on its speed.
        package static let refusesDuplicates = Quirks(rawValue: 1)
        /// Only the connection that showed a banner may update or close it.
        package static let checksOwnership = Quirks(rawValue: 2)
        /// An update closes the old banner and gets a new id.
        package static let renumbers = Quirks(rawValue: 4)
        /// Closing a banner that is not shown is an error.
        package static let refusesToCloseUnknown = Quirks(rawValue: 8)
        /// Signals are broadcast.
        package static let broadcastsSignals = Quirks(rawValue: 16)
        /// The first call of `GetCapabilities` fails.
        package static let failsFirstCapabilitiesCall = Quirks(rawValue: 32)

        /// It closes a banner when a button is pressed, after the signal of the button.
        package static let closesAfterAction = Quirks(rawValue: 64)
        /// It closes a banner when a button is pressed, before the signal of the button.
        package static let closesBeforeAction = Quirks(rawValue: 128)
        /// It shows a banner and replies with the id 0.
        package static let repliesZero = Quirks(rawValue: 256)
        /// It shows a banner and replies with a string.
        package static let repliesText = Quirks(rawValue: 512)

        /// `GetCapabilities` is never answered.
        package static let hidesCapabilities = Quirks(rawValue: 1024)

        /// The user presses the first button of each new banner, if it has one, and closes it before the server
        /// answers.
        package static let closesBeforeReply = Quirks(rawValue: 2048)

        package static let gnome: Quirks = [.checksOwnership, .refusesToCloseUnknown]
        package static let plasma: Quirks = [.refusesDuplicates]
        package static let mako: Quirks = [.renumbers, .broadcastsSignals, .refusesToCloseUnknown]
    }

    struct Refusal {
        let name: String
        let text: String

        static let repetition = Refusal(
            name: "org.freedesktop.Notifications.Error.ExcessNotificationGeneration",
            text: "Created too many similar notifications in quick succession")
        static let unknown = Refusal(name: invalidArguments, text: "Invalid notification ID")
    }
}

extension NotificationServer.State {
    func refusal(of banner: NotificationServer.Banner) -> NotificationServer.Refusal? {
        if quirks.contains(.refusesDuplicates), showing.values.contains(where: { $0.saysTheSame(as: banner) }) {
            return .repetition
        }
        if quirks.contains(.checksOwnership), banner.replaces != 0, showing[banner.replaces]?.sender != banner.sender {
            return .unknown
        }
        return nil
    }

    func refusal(toClose id: UInt32, for sender: String) -> NotificationServer.Refusal? {
        guard let banner = showing[id] else { return quirks.contains(.refusesToCloseUnknown) ? .unknown : nil }
        return quirks.contains(.checksOwnership) && banner.sender != sender ? .unknown : nil
    }
}

extension NotificationServer.Banner {
    fileprivate func saysTheSame(as other: Self) -> Bool {
        application == other.application && title == other.title && body == other.body && icon == other.icon
            && actions == other.actions && hints["desktop-entry"] == other.hints["desktop-entry"]
    }
}
