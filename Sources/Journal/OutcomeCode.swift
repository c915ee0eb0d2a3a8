import Routing

extension Outcome {
    /// How outcomes are written in the file; those below 10 count as unread, and 0 is for none.
    var code: Int {
        switch self {
        case .shown: 1
        case .muted: 2
        case .expired: 3
        case .claimed: 10
        case .retracted: 11
        case .dismissed: 12
        case .silent: 13
        }
    }

    init?(code: Int) {
        guard let outcome = Outcome.allCases.first(where: { $0.code == code }) else { return nil }
        self = outcome
    }
}
