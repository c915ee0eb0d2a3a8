import NotifyClient

/// What the log of the journal does, as notifyd counts it.
struct JournalLog {
    /// How long it took to sync a write to the disk: the median of the last ones.
    let sync: Duration
    /// How many bytes of it are not in the index yet.
    let waiting: UInt64
    /// When it was last written, in microseconds since the epoch; `nil`: never.
    let written: Int64?

    /// - Returns: `nil` if notifyd tells nothing about it.
    init?(_ statistics: [String: UInt64]) {
        guard let sync = statistics["log-sync-microseconds"], let waiting = statistics["log-waiting-bytes"],
            let written = statistics["log-written"]
        else { return nil }
        self.sync = .microseconds(Int64(clamping: sync))
        self.waiting = waiting
        self.written = written > 0 ? Int64(clamping: written) : nil
    }

    /// Such as `1.2 ms a write, 14 KiB wait for the index, written 3 s ago`.
    func sentence(at now: Int64 = Timestamp.now) -> String {
        guard let written else { return "not written yet" }
        let amount = waiting == 0 ? "nothing waits" : waiting == 1 ? "1 byte waits" : "\(Self.size(waiting)) wait"
        return "\(sync.displayText) a write, \(amount) for the index, written \(Timestamp(written).text(seenAt: now))"
    }

    private static func size(_ bytes: UInt64) -> String {
        switch bytes {
        case ..<1024: "\(bytes) bytes"
        case ..<(1 << 20): "\(bytes >> 10) KiB"
        default: "\(bytes >> 20) MiB"
        }
    }

    private static let slow = Duration.milliseconds(20)

    /// What `doctor` says.
    func finding(at now: Int64 = Timestamp.now) -> Finding {
        let state = "its log: \(sentence(at: now))"
        guard written != nil, sync > Self.slow else { return .ok(JournalCheck.check, state) }
        return .warning(
            JournalCheck.check, state,
            "A publisher waits that long for its reply. See whether other programs keep the disk busy (cat /proc/pressure/io) "
                + "or it is failing (smartctl -H). XDG_STATE_HOME puts the journal on another one.")
    }
}
