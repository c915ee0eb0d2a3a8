/// One line of the picture: the actions of one actor, or the expected outputs of one kind.
public struct Lane: Equatable, Sendable {
    public struct Mark: Equatable, Sendable {
        public var column: Int
        public var symbol: Character
    }

    public var name: String
    /// In order of columns; marks of the same time are in their order.
    public var marks: [Mark]

    public var role: Role { Role(laneNamed: name) }

    public enum Role: Equatable, Sendable {
        /// Publishes the events; `!` leaves the bus.
        case publisher
        /// Does something about events, topics or screens; `?` stands for an id that was never given, `!` leaves the
        /// bus, `#` is killed.
        case actor(String, Verb)
        /// Has a screen; see `ScreenSymbol`.
        case screen(Symbol, of: String)
        /// Is the notification server; see `ServerState`.
        case server
        /// An action on the banner of an event.
        case user(UserAction)
        /// Lasts from `[` to `]`.
        case condition(Condition)
        /// A topic is muted or unmuted.
        case mute(Bool)
        /// An output that is expected for an event at this time.
        case expectation
    }

    /// An action of the user or of a timeout on a banner.
    public enum UserAction: String, Sendable, CaseIterable {
        case dismissal
        case timeout
        case press
    }

    /// The marks in the lane of the notification server. Without such a lane the server works.
    public enum ServerState: Character, Sendable, CaseIterable {
        /// It works, and replies to calls that it has not answered yet.
        case well = "+"
        /// Answers every request with an error.
        case refusing = "x"
        /// Takes requests and does not answer.
        case hanging = "~"
        /// It leaves the bus, and its banners are gone.
        case absent = "!"
    }

    /// The marks in the lane of a screen, beside digits.
    public enum ScreenSymbol: Character, Sendable, CaseIterable {
        case opens = "["
        case closes = "]"
        case focused = "f"
        case visible = "v"
        case hidden = "h"
        /// An update that changes nothing.
        case renews = "+"
    }

    /// A state that lasts for a time.
    public enum Condition: String, Sendable, CaseIterable {
        /// No banners.
        case paused
        /// The session is locked.
        case locked
        /// A schedule with a digest is on, for all topics.
        case schedule
    }

    static let leaving: Character = "!"
    static let killing: Character = "#"
    static let unknownID: Character = "?"

    /// The lane in which the daemon publishes digests.
    static let digest = "digest"

    /// The lanes of expectation, in the order in which they are drawn: what the server is asked for, the outcomes, and
    /// digests.
    public static let expectations = [
        "banner", "update", "close", "action", "claimed", "shown", "retracted", "dismissed", "silent", "muted",
        "expired", "withdrawn", "replaced", digest,
    ]
}

extension Lane.Role {
    init(laneNamed name: String) {
        if Lane.expectations.contains(name) {
            self = .expectation
        } else if let act = Lane.UserAction(rawValue: name) {
            self = .user(act)
        } else if let condition = Lane.Condition(rawValue: name) {
            self = .condition(condition)
        } else if name == "server" {
            self = .server
        } else if name == "mute" || name == "unmute" {
            self = .mute(name == "mute")
        } else if name.hasPrefix("publisher"), !name.contains(" ") {
            self = .publisher
        } else {
            let words = name.split(separator: " ")
            if words.count == 2, words[0].hasSuffix("'s"), words[1].count == 1 {
                self = .screen(words[1].first!, of: String(words[0].dropLast(2)))
            } else {
                self = .actor(String(words[0]), words.count == 2 ? Verb(rawValue: String(words[1]))! : .claims)
            }
        }
    }

    /// The program on the bus that the lane belongs to, if any.
    func program(inLane name: String) -> String? {
        switch self {
        case .publisher: name
        case .actor(let actor, _), .screen(_, of: let actor): actor
        case .server, .user, .condition, .mute, .expectation: nil
        }
    }

    /// Whether letters in the lane stand for events, screens or topics; in others they are ordinary marks.
    var hasLetters: Bool {
        switch self {
        case .publisher, .actor, .user, .mute, .expectation: true
        case .screen, .server, .condition: false
        }
    }

    /// The characters that may stand in a lane of this role, beside letters of the scenario.
    var signs: String {
        switch self {
        case .publisher: String(Lane.leaving)
        case .actor: String([Lane.unknownID, Lane.leaving, Lane.killing])
        case .screen: String(Lane.ScreenSymbol.allCases.map(\.rawValue)) + "123456789"
        case .server: String(Lane.ServerState.allCases.map(\.rawValue))
        case .condition: "[]"
        case .user, .mute, .expectation: ""
        }
    }
}

extension Character {
    /// Whether this is a letter that can stand for an event, a screen or a topic.
    var isSymbol: Bool { isASCII && isLetter }
}
