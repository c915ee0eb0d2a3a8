import Routing

extension StoredDecision {
    /// The column `outcome` of the index: below 10 for what counts as unread.
    var code: Int {
        switch outcome {
        case .shown: 1
        case .muted: isRead ? 14 : 2
        case .expired: isRead ? 15 : 3
        case .claimed: 10
        case .retracted: 11
        case .dismissed: 12
        case .silent: 13
        case .withdrawn: 16
        case .replaced: 17
        }
    }
}
