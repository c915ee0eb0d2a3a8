/// How long dead letters wait for a disk that takes nothing. The time goes in, so tests need no clock.
///
/// The time counts for the disk and not for each letter: whoever sends rubbish at will can hold up other messages once
/// for so long, and not again while the disk is full.
struct LetterPatience: Sendable {
    /// Whether the disk takes no letter.
    var isFailing: Bool { since != nil }
    /// Since when the disk takes no letter.
    private var since: ContinuousClock.Instant?
    /// Letters that were given up since then.
    private(set) var lost = 0

    /// How long letters wait.
    private let limit: Duration

    init(_ limit: Duration = .seconds(300)) { self.limit = limit }

    /// A letter could not be kept.
    ///
    /// - Returns: whether it waits; otherwise it is given up.
    mutating func failed(at now: ContinuousClock.Instant) -> Bool {
        let begin = since ?? now
        since = begin
        guard now - begin >= limit else { return true }
        lost += 1
        return false
    }

    /// Letters were given up because too many wait.
    mutating func gaveUp(_ count: Int) { lost += count }

    /// Letters are kept again.
    ///
    /// - Returns: how many were given up meanwhile; `nil` if the disk has taken all.
    mutating func succeeded() -> Int? {
        guard since != nil else { return nil }
        defer { self = LetterPatience(limit) }
        return lost
    }
}
