/// When something was last read from a terminal, as the time of access of its device tells.
struct TerminalInput: Equatable {
    /// The kernel notes the time only when another 8 seconds have begun, so that nobody can measure how somebody types.
    private static let grain: Int64 = 8

    /// In seconds since 1970-01-01 00:00 UTC.
    let lastRead: Int64

    /// Whether a command read what was typed until shortly before its end: then whoever typed it is there. Such are
    /// editors, pagers, shells on other machines and everything that is asked to end by a key. A command that only
    /// asked at its beginning is not among them.
    ///
    /// - Parameters:
    ///   - end: when the command ended, in whole seconds.
    ///   - duration: how long it took. The shell itself has read from the terminal just before it began.
    func wasTaken(upTo end: Int64, by duration: Duration) -> Bool {
        // Rounding may put the beginning a second too early.
        let start = end - duration.components.seconds + 1
        return lastRead / Self.grain > start / Self.grain && lastRead / Self.grain >= end / Self.grain - 1
    }
}
