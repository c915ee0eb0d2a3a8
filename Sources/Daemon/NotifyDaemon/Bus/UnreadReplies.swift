/// Bytes of long replies to each caller that it was not seen to read. The bus keeps what a caller does not read, and
/// takes it off a quota that ends our own connection.
///
/// A caller is seen to read by its answer to a ping, which the bus delivers after the replies. It is asked early, so
/// that who reads does not have to wait.
struct UnreadReplies {
    /// Above this a caller's calls wait.
    static var limit: Int { 256 << 10 }
    /// Above this a caller is asked.
    static var askAbove: Int { 64 << 10 }

    private struct Unread {
        var bytes = 0
        /// What it had when it was asked; `nil`: it is not asked now.
        var asked: Int?
    }

    private var callers: [String: Unread] = [:]

    /// Whether no more calls of this caller are handled for now.
    func mustWait(_ caller: String) -> Bool { callers[caller].map { $0.bytes > Self.limit } ?? false }

    /// - Returns: whether the caller is to be asked now.
    mutating func sent(_ bytes: Int, to caller: String) -> Bool {
        callers[caller, default: Unread()].bytes += bytes
        return asks(caller)
    }

    /// The caller has answered: it has read everything before the question.
    ///
    /// - Returns: whether it is to be asked again now.
    mutating func answered(_ caller: String) -> Bool {
        guard let asked = callers[caller]?.asked else { return false }
        callers[caller]?.asked = nil
        callers[caller]?.bytes -= asked
        if callers[caller]?.bytes == 0 { callers[caller] = nil }
        return asks(caller)
    }

    private mutating func asks(_ caller: String) -> Bool {
        guard let unread = callers[caller], unread.asked == nil, unread.bytes > Self.askAbove else { return false }
        callers[caller]?.asked = unread.bytes
        return true
    }

    mutating func remove(_ caller: String) { callers[caller] = nil }
}
