extension NotificationServer {
    /// What real servers do beyond the specification, or instead of what it says.
    package struct Habits: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// A banner that says the same as one on screen is an error, even where it was to replace that one. Plasma forgets
        /// after a second; this server does not, so that no test depends on its own speed.
        package static let refusesRepetition = Habits(rawValue: 1)
        /// Only the connection that showed a banner may update or close it; everything else is an error.
        package static let knowsOwners = Habits(rawValue: 2)
        /// An update takes the old banner down and gets a number of its own.
        package static let renumbers = Habits(rawValue: 4)
        /// To close what is not on screen is an error.
        package static let refusesToCloseWhatIsGone = Habits(rawValue: 8)
        /// Signals go to everybody on the bus.
        package static let tellsEverybody = Habits(rawValue: 16)
        /// It cannot say what it can do when it is asked for the first time.
        package static let isShyAtFirst = Habits(rawValue: 32)

        /// It closes a banner when a button of it is pressed, and tells of the button first.
        package static let closesAfterAButton = Habits(rawValue: 64)
        /// It closes a banner when a button of it is pressed, and tells of the button last.
        package static let closesBeforeAButton = Habits(rawValue: 128)
        /// It shows a banner and answers with the number 0.
        package static let answersZero = Habits(rawValue: 256)
        /// It shows a banner and answers with a text.
        package static let answersText = Habits(rawValue: 512)

        package static let gnome: Habits = [.knowsOwners, .refusesToCloseWhatIsGone]
        package static let plasma: Habits = [.refusesRepetition]
        package static let mako: Habits = [.renumbers, .tellsEverybody, .refusesToCloseWhatIsGone]
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
        if habits.contains(.refusesRepetition), showing.values.contains(where: { $0.saysTheSame(as: banner) }) {
            return .repetition
        }
        if habits.contains(.knowsOwners), banner.replaces != 0, showing[banner.replaces]?.sender != banner.sender {
            return .unknown
        }
        return nil
    }

    func refusal(toClose id: UInt32, for sender: String) -> NotificationServer.Refusal? {
        guard let banner = showing[id] else { return habits.contains(.refusesToCloseWhatIsGone) ? .unknown : nil }
        return habits.contains(.knowsOwners) && banner.sender != sender ? .unknown : nil
    }
}

extension NotificationServer.Banner {
    fileprivate func saysTheSame(as other: Self) -> Bool {
        application == other.application && title == other.title && body == other.body && icon == other.icon
            && actions == other.actions && hints["desktop-entry"] == other.hints["desktop-entry"]
    }
}
