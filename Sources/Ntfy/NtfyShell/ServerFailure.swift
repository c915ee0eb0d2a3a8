/// Why a server has not done what it was asked for.
enum ServerFailure: Error, Equatable, CustomStringConvertible {
    /// It may do it later: it cannot be reached, or has failed itself.
    case away(String)
    /// Too many requests; how long to wait, if it has said that.
    case limited(Duration?)
    /// It does not let us in, until somebody changes something.
    case denied(String)
    /// This user may not do that, or there is nothing there.
    case forbidden(String)
    /// Never, whoever asks.
    case rejected(String)

    /// Whether only a person can mend it.
    var needsSomebody: Bool {
        switch self {
        case .away, .limited: false
        case .denied, .forbidden, .rejected: true
        }
    }

    /// For people, without a secret and without anything of events.
    var description: String {
        switch self {
        case .away(let reason), .denied(let reason), .forbidden(let reason), .rejected(let reason): reason
        case .limited: "the server takes no more requests for now"
        }
    }
}
