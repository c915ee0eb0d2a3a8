/// Why a server has not done what it was asked for.
enum ServerFailure: Error, Equatable, CustomStringConvertible {
    /// It may do it later: it cannot be reached, or has failed itself.
    case away(String)
    /// What it says is not what a server of ntfy says. It may be one later.
    case rude(String)
    /// Too many requests; how long to wait, if it has said that.
    case limited(Duration?)
    /// It does not let us in, until somebody changes something.
    case denied(String)
    /// This user may not do that.
    case forbidden(String)
    /// There is nothing there.
    case missing(String)
    /// Never, whoever asks.
    case rejected(String)

    /// Whether only a person can mend it.
    var needsSomebody: Bool {
        switch self {
        case .away, .rude, .limited: false
        case .denied, .forbidden, .missing, .rejected: true
        }
    }

    /// Whether a connection that ends so is a bad one, however long it has lived.
    var isRude: Bool {
        if case .rude = self { true } else { false }
    }

    /// For the log, without the names of topics: who knows the name of one can often read it.
    var kind: String {
        if case .forbidden = self { "it does not allow this user to read or write a topic" } else { description }
    }

    /// For people, without a secret and without anything of events.
    var description: String {
        switch self {
        case .away(let reason), .rude(let reason), .denied(let reason), .forbidden(let reason), .missing(let reason),
            .rejected(let reason):
            reason
        case .limited: "the server takes no more requests for now"
        }
    }
}
