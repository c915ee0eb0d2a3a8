/// One line of the picture: what one actor does, or what is expected of one kind, step by step.
public struct Lane: Equatable, Sendable {
    public struct Mark: Equatable, Sendable {
        public var column: Int
        public var symbol: Character
    }

    public var name: String
    /// In order of columns; what happens at the same time stands in the order in which it happens.
    public var marks: [Mark]

    public var role: Role { Role(laneNamed: name) }

    /// What the marks of a lane mean.
    public enum Role: Equatable, Sendable {
        /// Publishes the events; `!` leaves the bus.
        case publisher
        /// Claims the events; `?` claims an id that was never given, `!` leaves the bus.
        case claimant
        /// Is the notification server; see `ServerMood`.
        case server
        /// Something is done to the banner that speaks of an event.
        case user(UserAct)
        /// Something is expected to happen to an event, at that time.
        case expectation
    }

    /// What the user, or time, does to a banner.
    public enum UserAct: String, Sendable, CaseIterable {
        /// The user closes it.
        case dismissal
        /// It closes by itself.
        case timeout
        /// The user presses its button.
        case press
    }

    /// What the lane of the notification server can say. Without such a lane the server is there and well.
    public enum ServerMood: Character, Sendable, CaseIterable {
        /// Is there and well; what it had not answered so far it answers now.
        case well = "+"
        /// Answers every request with an error.
        case refusing = "x"
        /// Takes requests and does not answer.
        case hanging = "~"
        /// Leaves the bus, and everything it showed is gone.
        case absent = "!"
    }

    /// The lanes of expectation, in the order in which they are drawn: what the server is asked for, then the outcomes.
    public static let expectations = [
        "banner", "update", "close", "action", "claimed", "shown", "retracted", "dismissed", "silent", "muted",
        "expired",
    ]
}

extension Lane.Role {
    init(laneNamed name: String) {
        if Lane.expectations.contains(name) {
            self = .expectation
        } else if let act = Lane.UserAct(rawValue: name) {
            self = .user(act)
        } else if name == "server" {
            self = .server
        } else if name.hasPrefix("publisher") {
            self = .publisher
        } else {
            self = .claimant
        }
    }

    /// The characters beside letters that may stand in a lane of this role.
    var signs: String {
        switch self {
        case .publisher: "!"
        case .claimant: "?!"
        case .server: String(Lane.ServerMood.allCases.map(\.rawValue))
        case .user, .expectation: ""
        }
    }
}

extension Character {
    /// Whether this is the letter of an event.
    var isSymbol: Bool { isASCII && isLetter }
}
