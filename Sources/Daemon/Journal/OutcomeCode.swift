import Routing

extension StoredDecision {
    /// The numbers of outcomes in the file. Those below 10 count as unread; 0 means undecided.
    var code: Int {
        switch outcome {
        case .muted where isRead: 14
        case .expired where isRead: 15
        default: outcome.code
        }
    }

    init?(code: Int, resolved: Int64) {
        let (outcome, isRead): (Outcome?, Bool) =
            switch code {
            case 14: (.muted, true)
            case 15: (.expired, true)
            default: (Outcome.allCases.first { $0.code == code }, false)
            }
        guard let outcome else { return nil }
        self.init(outcome: outcome, resolved: resolved)
        self.isRead = isRead
    }
}

extension Outcome {
    fileprivate var code: Int {
        switch self {
        case .shown: 1
        case .muted: 2
        case .expired: 3
        case .claimed: 10
        case .retracted: 11
        case .dismissed: 12
        case .silent: 13
        // 14 and 15 are `muted` and `expired`, marked as read.
        case .withdrawn: 16
        case .replaced: 17
        }
    }
}
