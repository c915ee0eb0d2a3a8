/// What an actor can do about an event, a screen or a topic: the second word of its lane, as in `phone holds`.
public enum Verb: String, Equatable, Sendable, CaseIterable {
    /// `Claim` of an event, `ClaimTopic` of a topic. A lane that has only the actor's name is one of claims.
    case claims
    /// `ClaimProvisionally`.
    case holds
    /// `Complete`.
    case completes
    /// `Release`.
    case releases
    /// `Pass`.
    case passes
    /// `Withdraw`.
    case withdraws
    /// `UpdateScreen` that changes nothing, of whatever screen, and whatever is answered.
    case updates
    /// `CloseScreen` likewise.
    case closes

    /// What is answered where nothing is wrong and there is nothing to say.
    static let done = "done"
    /// The error UnknownEvent.
    static let unknown = "unknown"

    private static let verdicts = ["suppressed", "retracted", "recorded", unknown]

    /// What the call can be answered, beside the number of events that a topic claim took.
    var answers: [String] {
        switch self {
        case .claims, .holds: Self.verdicts + ["LimitExceeded"]
        case .completes, .releases: [Self.done, Self.unknown, "NotClaimant"]
        case .passes, .withdraws: [Self.done, Self.unknown]
        case .updates, .closes: [Self.done, "AccessDenied", "UnknownScreen"]
        }
    }

    /// Whether no line needs to say that a call was answered with nothing but success.
    var isUsuallyDone: Bool { answers.contains(Self.done) }
}
