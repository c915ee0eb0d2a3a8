import Logging
import NotifyClient

/// What can never be delivered: it is kept for a while, counted and told, so that somebody can see what was lost.
public struct DeadLetter: Hashable, Sendable {
    /// The topic of the event, if there is one. `notifyctl forget` deletes the letter with the events of the topic.
    public var topic: String?
    /// Where it came from, such as a device or a server.
    public var origin: String
    /// Why it cannot be delivered, without anything of its contents.
    public var reason: String
    /// The message; of a large one, only the first 256 KiB are kept.
    public var content: [UInt8]

    public init(topic: String? = nil, origin: String, reason: String = "", content: [UInt8] = []) {
        self.topic = topic
        self.origin = origin
        self.reason = reason
        self.content = content
    }
}

/// A dead letter in the store.
public struct KeptLetter: Hashable, Sendable {
    /// Grows with every letter.
    public var id: Int64
    /// When it was kept, in microseconds since the epoch.
    public var at: Int64
    /// The letter itself.
    public var letter: DeadLetter
}

/// How many dead letters are kept.
package struct LetterLimits: Sendable {
    package var count: Int
    /// Bytes of all together.
    package var bytes: Int
    /// Microseconds.
    package var age: Int64

    package init(count: Int = 1000, bytes: Int = 16 << 20, age: Int64 = 7 * 86_400_000_000) {
        self.count = count
        self.bytes = bytes
        self.age = age
    }
}

/// The table of dead letters.
enum LetterTable {
    private static let maximumContent = 256 << 10
    /// What a letter takes beside its texts.
    private static let overhead = 64

    /// A message that comes again, after a reconnection for instance, is still one letter. What is kept in part, or
    /// without its content, may be many.
    static func insert(_ letter: DeadLetter, at time: Int64, _ database: SQLiteFile) throws(StoreError) {
        let content = Array(letter.content.prefix(maximumContent))
        if !content.isEmpty, content.count == letter.content.count {
            try database.run(
                """
                DELETE FROM letter WHERE length(content) = ? AND origin = ? AND reason = ? AND \
                topic IS ? AND content = ?
                """,
                [
                    .integer(Int64(content.count)), .text(letter.origin), .text(letter.reason),
                    letter.topic.map { .text($0) } ?? .null, .blob(content),
                ])
        }
        try database.run(
            "INSERT INTO letter (at, topic, origin, reason, content) VALUES (?, ?, ?, ?, ?)",
            [
                .integer(time), letter.topic.map { .text($0) } ?? .null, .text(letter.origin), .text(letter.reason),
                .blob(content),
            ])
    }

    /// Deletes what is too old, and then the oldest ones until the rest is within the limits.
    static func enforce(_ limits: LetterLimits, at time: Int64, _ database: SQLiteFile) throws(StoreError) {
        try database.run("DELETE FROM letter WHERE at <= ?", [.integer(time - limits.age)])
        var count = 0
        var bytes = 0
        var last: Int64?
        try database.rows(
            """
            SELECT id, length(CAST(coalesce(topic, '') AS BLOB)) + length(CAST(origin AS BLOB))
                + length(CAST(reason AS BLOB)) + length(content) + \(overhead) FROM letter ORDER BY id DESC
            """
        ) { row in
            count += 1
            bytes += Int(row.integer(1))
            if count > limits.count || bytes > limits.bytes { last = row.integer(0) }
            return last == nil
        }
        if let last { try database.run("DELETE FROM letter WHERE id <= ?", [.integer(last)]) }
    }

    static func count(_ database: SQLiteFile) throws(StoreError) -> Int {
        Int(try database.integer("SELECT count(*) FROM letter") ?? 0)
    }

    static func all(_ database: SQLiteFile) throws(StoreError) -> [KeptLetter] {
        var letters: [KeptLetter] = []
        try database.rows("SELECT id, at, topic, origin, reason, content FROM letter ORDER BY id") { row in
            letters.append(
                KeptLetter(
                    id: row.integer(0), at: row.integer(1),
                    letter: DeadLetter(
                        topic: row.isNull(2) ? nil : row.text(2), origin: row.text(3), reason: row.text(4),
                        content: row.bytes(5))))
            return true
        }
        return letters
    }

    /// - Returns: how many there were.
    static func delete(below topic: String, _ database: SQLiteFile) throws(StoreError) -> Int {
        if topic == "/" { return try database.run("DELETE FROM letter", []) }
        let below = topic + "/"
        return try database.run(
            "DELETE FROM letter WHERE topic = ? OR substr(topic, 1, ?) = ?",
            [.text(topic), .integer(Int64(below.unicodeScalars.count)), .text(below)])
    }
}

/// Keeps dead letters, and waits while the disk takes nothing: what can never be delivered is confirmed to the other
/// side only when its letter is on the disk.
///
/// After five minutes of such a disk, letters are given up until it takes one again: they are counted, in the log and
/// as a problem of the bridge. So rubbish is never lost in silence, and never holds up other messages for ever.
public final class DeadLetterWriter: Sendable {
    /// What has become of a letter.
    package enum Result: Sendable {
        case kept
        /// The disk was full for too long. It is counted, and its message is confirmed.
        case givenUp
        /// The disk takes nothing now.
        case failed
    }

    private struct State: Sendable {
        var timeout: LetterTimeout
        /// Letters that wait.
        var waiting = 0
    }

    private let store: BridgeStore
    private let status: BridgeStatus
    private let logger: Logger
    private let loop: WorkLoop
    private let state: Locked<State>

    /// What waits at most, before others wait for it.
    private static let maximumWaiting = 100
    private static let longestPause = Duration.seconds(15)

    init(
        _ store: BridgeStore, _ status: BridgeStatus, _ logger: Logger, _ loop: WorkLoop,
        timeout: LetterTimeout = LetterTimeout()
    ) {
        state = Locked(State(timeout: timeout))
        self.store = store
        self.status = status
        self.logger = logger
        self.loop = loop
    }

    /// Whether so many letters wait for the disk that no more should.
    package var isFull: Bool { state.withLock { $0.waiting >= Self.maximumWaiting } }

    /// Keeps what can never be delivered, and waits for the disk. When it returns, the message is dealt with: its
    /// letter is on the disk, or was given up and counted.
    ///
    /// - Throws: `CancellationError` if the task was cancelled meanwhile. Then the other side is told nothing, and says
    ///   it again.
    public func keep(_ letter: DeadLetter) async throws(CancellationError) {
        guard case .failed = await attempt(letter) else { return }
        state.withLock { $0.waiting += 1 }
        defer {
            state.withLock { $0.waiting -= 1 }
            updateStatus()
        }
        var backoff = Backoff(upTo: Self.longestPause)
        repeat {
            updateStatus()
            try await loop.pause(for: backoff.next() + .milliseconds(100))
        } while await attempt(letter) == .failed
    }

    /// Tries once to keep what can never be delivered.
    package func attempt(_ letter: DeadLetter) async -> Result {
        await withCheckedContinuation { continuation in attempt(letter) { continuation.resume(returning: $0) } }
    }

    /// Tries once to keep what can never be delivered.
    ///
    /// - Parameter completion: runs on the thread of the store.
    package func attempt(_ letter: DeadLetter, _ completion: @escaping @Sendable (Result) -> Void) {
        store.keep(letter) { [self] error in completion(wrote(1, error)) }
    }

    /// Takes note of an attempt to write letters.
    ///
    /// - Parameter count: how many.
    package func wrote(_ count: Int, _ error: StoreError?) -> Result {
        guard let error else {
            guard let lost = state.withLock({ $0.timeout.succeeded() }) else { return .kept }
            logger.notice("Dead letters are kept again", metadata: ["lost": "\(lost)"])
            updateStatus()
            return .kept
        }
        let (isFirst, before, waits, lost) = state.withLock { state in
            let isFirst = !state.timeout.isFailing
            let before = state.timeout.lost
            var waits = true
            for _ in 0..<count { waits = state.timeout.failed(at: .now) }
            return (isFirst, before, waits, state.timeout.lost)
        }
        if isFirst {
            logger.error(
                "A dead letter cannot be kept; it waits for the disk", metadata: ["error": "\(error)"])
        }
        guard !waits else { return .failed }
        if before == 0 {
            logger.error(
                "Dead letters are given up: the disk takes nothing for too long", metadata: ["error": "\(error)"])
        }
        logger.info("A dead letter is given up", metadata: ["lost": "\(lost)"])
        updateStatus()
        return .givenUp
    }

    /// Takes note that letters were given up because too many wait for the disk.
    package func gaveUp(_ count: Int) {
        let lost = state.withLock { state in
            state.timeout.gaveUp(count)
            return state.timeout.lost
        }
        logger.error("Dead letters are given up: too many wait for the disk", metadata: ["lost": "\(lost)"])
        updateStatus()
    }

    /// Reports what waits, and of what was given up.
    private func updateStatus() {
        let (waiting, timeout) = state.withLock { ($0.waiting, $0.timeout) }
        var reasons: [String] = []
        if timeout.isFailing, waiting > 0 {
            reasons.append("\(Self.messages(waiting)), not confirmed: the disk does not take dead letters yet")
        }
        if timeout.lost > 0 {
            reasons.append(
                "\(Self.messages(timeout.lost)), without a dead letter: the disk takes nothing for too long")
        }
        status.setLetters(reasons.isEmpty ? nil : reasons.joined(separator: "; "))
    }

    private static func messages(_ count: Int) -> String {
        "\(count) message\(count == 1 ? "" : "s") that can never be taken"
    }
}

/// How long dead letters wait for a disk that takes nothing. The time goes in, so tests need no clock.
///
/// The time counts for the disk and not for each letter: whoever sends rubbish at will can hold up other messages once
/// for so long, and not again while the disk is full.
struct LetterTimeout: Sendable {
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
        defer { self = LetterTimeout(limit) }
        return lost
    }
}

/// The methods of `org.notifyd.Bridge1`, which every bridge has.
struct BridgeMethods: Sendable {
    let store: BridgeStore
    let status: BridgeStatus
    /// Such as `mqtt`.
    let name: String

    /// So many letters are listed, the newest ones.
    private static let maximum = 1000

    var interface: BridgeInterface {
        BridgeInterface(
            BridgeStatus.interface,
            [
                BridgeMethod("ListDeadLetters", out: [("letters", "a(txssst)")]) { [store] _ in
                    let letters = try await store.letters().suffix(Self.maximum)
                    return [.array(letters.map(\.value), of: ValueType(signature: "(txssst)")!)]
                },
                BridgeMethod("Forget", in: [("topic", "s")], out: [("count", "t")]) { [store] arguments in
                    guard let topic = arguments[0].string, topic.hasPrefix("/"), topic == "/" || !topic.hasSuffix("/")
                    else {
                        throw BridgeMethodError(
                            "org.freedesktop.DBus.Error.InvalidArgs",
                            "A topic begins with / and does not end with one; / stands for every topic.")
                    }
                    return [.uint64(UInt64(try await store.forgetLetters(below: topic)))]
                },
                .diagnose { [status, name] in
                    status.diagnosis(of: name).map { ("bridge \(name)", $0.reason, $0.advice) }
                },
            ])
    }
}

extension KeptLetter {
    /// Id, time, topic (empty without one), origin, reason and the size of its contents.
    fileprivate var value: Value {
        .structure([
            .uint64(UInt64(clamping: id)), .int64(at), .string(letter.topic ?? ""), .string(letter.origin),
            .string(letter.reason), .uint64(UInt64(letter.content.count)),
        ])
    }
}
