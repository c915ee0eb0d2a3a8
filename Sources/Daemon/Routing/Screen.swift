public import NotifyText

/// The number of a screen; numbers are never reused.
public struct ScreenID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (left: ScreenID, right: ScreenID) -> Bool { left.rawValue < right.rawValue }

    public var description: String { "\(rawValue)" }
}

/// A standing claim on a topic, held by a D-Bus connection until it is closed, its lease ends or the connection leaves.
public struct Screen: Sendable {
    /// Who decides about a new event.
    public enum Mode: String, Sendable, CaseIterable {
        /// The event is claimed on arrival.
        case auto
        /// The screen is asked: it claims or passes.
        case ask
    }

    /// How well the user sees it.
    public enum State: String, Sendable, CaseIterable {
        /// Has the focus; can be seen; cannot be seen.
        case focused, visible, hidden
    }

    /// The number that its owner got.
    public let id: ScreenID
    /// It shows events at or below this topic.
    public let topic: TopicPrefix
    /// The unique bus name of the connection that holds it.
    public let owner: String
    /// Who decides about a new event.
    public internal(set) var mode = Mode.auto
    /// How well the user sees it.
    public internal(set) var state = State.focused
    /// How long it stays open without an update; `nil`: as long as its connection.
    public internal(set) var lease: Duration?
    /// Armed for the end of the lease.
    var leaseTimer: Router.Timers.TimerID?
    /// Whether opening it also claims undecided and shown events.
    public internal(set) var clear = true
    /// The events about which its answer is awaited.
    var asked = SortedIDs()
}

/// The `options` of `OpenScreen` and `UpdateScreen`: an absent one changes nothing.
public struct ScreenOptions: Sendable, Equatable {
    /// Who decides about an event.
    public var mode: Screen.Mode?
    /// How well the user sees it.
    public var state: Screen.State?
    /// Zero means no lease.
    public var lease: Duration?
    /// Whether opening it also claims undecided and shown events.
    public var clear: Bool?

    public init() {}

    /// Reads the dictionary of a call.
    public init(_ entries: [Field]) throws(Refusal) {
        for entry in entries {
            switch entry.name {
            case "mode": mode = try Self.word(entry)
            case "state": state = try Self.word(entry)
            case "lease":
                guard let seconds = entry.value.integer, (0...Int64(UInt32.max)).contains(seconds) else {
                    throw .invalidArguments("option 'lease' must be a number of seconds (u); 0 means none")
                }
                lease = .seconds(seconds)
            case "clear":
                guard case .boolean(let flag) = entry.value else {
                    throw .invalidArguments(
                        "option 'clear' must be a boolean (b); it has type \(entry.value.signature)")
                }
                clear = flag
            default:
                throw .invalidArguments(
                    "there is no option '\(entry.name.quotable)'; the options are clear, lease, mode and state")
            }
        }
    }

    private static func word<Word: RawRepresentable & CaseIterable>(
        _ entry: Field
    ) throws(Refusal) -> Word where Word.RawValue == String {
        guard case .string(let text) = entry.value, let word = Word(rawValue: text) else {
            let words = Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw .invalidArguments("option '\(entry.name)' must be one of the strings \(words)")
        }
        return word
    }
}

/// Which screens suppress banners.
public struct ScreenSettings: Hashable, Sendable {
    /// The states in which a screen claims or is asked; in others it is ignored.
    public var suppressingStates: Set<Screen.State>
    /// How long after the last input the desktop calls a session idle.
    public var idleAfter: Duration

    public init(suppressingStates: Set<Screen.State> = [.focused, .visible], idleAfter: Duration = .seconds(300)) {
        self.suppressingStates = suppressingStates
        self.idleAfter = idleAfter
    }
}
