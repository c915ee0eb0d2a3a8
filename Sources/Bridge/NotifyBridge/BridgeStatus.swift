import NotifyClient
import TOMLTables

/// How a bridge is: the properties of `org.notifyd.Bridge1`, which `notifyctl bridges`, `status` and `doctor` show.
///
/// A new state is announced at once, numbers at most once a second. `systemctl status` shows the state, too.
public final class BridgeStatus: Sendable {
    /// What a bridge is doing.
    public enum State: String, Sendable {
        /// It is about to connect to the other side.
        case connecting
        case connected
        /// The other side is away, and is tried again later.
        case waiting
        /// It does nothing until somebody changes something; the detail says what.
        case failed
    }

    /// Another device that is reached by the bridge.
    public struct Peer: Hashable, Sendable {
        /// Its id.
        public var device: String
        /// Its name, for people.
        public var name: String
        /// Whether it is connected now.
        public var isOnline: Bool
        /// When it was last heard, in microseconds since the epoch.
        public var seen: Int64
        /// How many of its events are known to be missing here; 1 where only that some are is known.
        public var behind: UInt64

        public init(device: String, name: String, isOnline: Bool, seen: Int64, behind: UInt64) {
            self.device = device
            self.name = name
            self.isOnline = isOnline
            self.seen = seen
            self.behind = behind
        }
    }

    /// What is wrong although the bridge works, for people.
    public struct Problem: Hashable, Sendable {
        /// What is wrong. No secret, and nothing of events.
        public var reason: String
        /// What would be right.
        public var advice: String

        public init(_ reason: String, _ advice: String) {
            self.reason = reason
            self.advice = advice
        }
    }

    private struct Values {
        var state = State.connecting
        var detail = ""
        /// What to do about the state; `nil` for the usual advice.
        var advice: String?
        var since: Int64
        var backlog: UInt64 = 0
        var deadLetters: UInt64 = 0
        var roundTrip: Int64 = 0
        var peers: [Peer] = []
        /// By what they are about.
        var problems: [String: Problem] = [:]
        /// Properties that have changed since the last signal.
        var changed: Set<String> = []
        /// When the last signal was sent.
        var announced: ContinuousClock.Instant?
        var announcement: WorkTimer?
        /// Where signals wait for their moment.
        var loop: WorkLoop?
        var send: (@Sendable (Message) -> Void)?
        var onState: (@Sendable (String) -> Void)?
    }

    /// The least time between two signals about numbers.
    private static let pause = Duration.seconds(1)

    private let clock: @Sendable () -> Int64
    private let values: Locked<Values>

    /// - Parameter clock: microseconds since the epoch.
    init(clock: @escaping @Sendable () -> Int64 = { SystemClock.wall }) {
        self.clock = clock
        values = Locked(Values(since: clock()))
    }

    /// - Parameters:
    ///   - loop: where signals wait for their moment.
    ///   - send: sends a signal, and returns at once.
    ///   - onState: gets the state and its detail as one line, and returns at once.
    func attach(
        _ loop: WorkLoop, send: @escaping @Sendable (Message) -> Void, onState: @escaping @Sendable (String) -> Void
    ) {
        values.withLock { values in
            values.loop = loop
            values.send = send
            values.onState = onState
        }
    }

    // MARK: What the bridge says

    /// What the bridge is doing now.
    public var state: State { values.withLock { $0.state } }

    /// Tells what the bridge is doing.
    ///
    /// - Parameters:
    ///   - state: what it is doing.
    ///   - detail: a sentence for people: where it is connected to, or what is wrong and what would be right. No
    ///     secret, and nothing of events.
    ///   - advice: what to do if it waits or has failed, for `notifyctl doctor`. Without it, that is to look into the
    ///     log of a bridge that has failed, and to leave alone one that waits, because it tries again.
    public func set(_ state: State, _ detail: String = "", advice: String? = nil) {
        let now = clock()
        values.withLock { values in
            values.advice = advice
            guard values.state != state || values.detail != detail else { return }
            if values.state != state {
                values.since = now
                values.changed.formUnion(["State", "Since"])
            }
            if values.detail != detail { values.changed.insert("Detail") }
            values.state = state
            values.detail = detail
            values.onState?(Self.line(values))
            Self.announce(&values)
        }
    }

    /// How many events wait to be sent to the other side.
    public func setBacklog(_ count: UInt64) { change("Backlog") { Self.update(&$0.backlog, count) } }

    /// How long a message takes to the other side and back.
    public func setRoundTrip(_ time: Duration) {
        change("RoundTrip") { Self.update(&$0.roundTrip, time.microseconds) }
    }

    /// The other devices.
    public func setPeers(_ peers: [Peer]) { change("Peers") { Self.update(&$0.peers, peers) } }

    /// Tells what is wrong although the bridge works, or that it is not any more.
    ///
    /// - Parameters:
    ///   - subject: what it is about; a later call about the same replaces it.
    ///   - problem: `nil` if nothing is wrong.
    public func setProblem(_ subject: String, _ problem: Problem?) {
        change("Problems") { Self.update(&$0.problems[subject], problem) }
    }

    /// Tells what is wrong although the bridge works, or that it is not any more.
    ///
    /// - Parameters:
    ///   - reason: of the problem; `nil` if nothing is wrong.
    ///   - advice: what would be right.
    package func setProblem(_ subject: String, _ reason: String?, _ advice: String) {
        setProblem(subject, reason.map { Problem($0, advice) })
    }

    /// Forgets the problems about everything else.
    func keepProblems(_ subjects: Set<String>) {
        change("Problems") { values in
            Self.update(&values.problems, values.problems.filter { subjects.contains($0.key) })
        }
    }

    func setDeadLetters(_ count: Int) { change("DeadLetters") { Self.update(&$0.deadLetters, UInt64(count)) } }

    /// The state and its detail, for the service manager.
    var line: String { values.withLock { Self.line($0) } }

    private static func line(_ values: Values) -> String {
        values.detail.isEmpty ? values.state.rawValue : "\(values.state.rawValue): \(values.detail)"
    }

    /// - Returns: whether the value is another one now.
    private static func update<Content: Equatable>(_ value: inout Content, _ new: Content) -> Bool {
        defer { value = new }
        return value != new
    }

    private func change(_ name: String, _ update: (inout Values) -> Bool) {
        values.withLock { values in
            guard update(&values) else { return }
            values.changed.insert(name)
            guard values.announcement == nil else { return }
            let delay = values.announced.map { $0 + Self.pause - .now } ?? .zero
            guard delay > .zero, let loop = values.loop else { return Self.announce(&values) }
            values.announcement = loop.perform(after: delay) { [weak self] in
                self?.values.withLock { Self.announce(&$0) }
            }
        }
    }

    // MARK: What is wrong

    /// The advice for what goes on without the user, as soon as something else is there.
    package static let goesOn = "It goes on by itself when that is done; nothing has to be restarted."

    /// The advice for a mistake in a file that the configuration names.
    package static func correction(of name: String) -> String {
        "Put that right, then: notifyd-\(name) --check-config && systemctl --user restart notifyd-\(name)"
    }

    /// What is wrong, for `Diagnose`: its state, and what to do. The first one is about the state of the bridge, if it
    /// waits or has failed, or if its detail names a problem.
    func diagnosis(of name: String) -> [Problem] {
        values.withLock { values in
            let problems = Self.problems(values)
            let named = Set(problems.filter { values.detail.contains($0.reason) }.map(\.advice))
            var advice = named.isEmpty ? values.advice : named.sorted().joined(separator: " ")
            switch values.state {
            case .connecting, .connected: if named.isEmpty { advice = nil }
            case .waiting:
                advice =
                    advice ?? "It tries again by itself. To try now: systemctl --user restart notifyd-\(name)"
            case .failed: advice = advice ?? "Its log says more: journalctl --user -u notifyd-\(name) -n 20"
            }
            var diagnosis: [Problem] = []
            if let advice {
                let words = values.detail.isEmpty ? values.state.rawValue : "\(values.state) (\(values.detail))"
                diagnosis.append(Problem(words, advice))
            }
            diagnosis += problems.filter { !values.detail.contains($0.reason) }
            if values.deadLetters > 0 {
                let letters = values.deadLetters == 1 ? "1 dead letter" : "\(values.deadLetters) dead letters"
                diagnosis.append(
                    Problem(
                        "\(letters): what it could not deliver, and never will",
                        "“notifyctl bridges \(name) --dead-letters” says why; “--forget” instead deletes them."))
            }
            return diagnosis
        }
    }

    // MARK: The interface

    static let interface = "org.notifyd.Bridge1"
    static let path = "/org/notifyd/Bridge1"

    /// All properties by name.
    var properties: [String: Value] { values.withLock { Self.properties($0) } }

    private static func properties(_ values: Values) -> [String: Value] {
        [
            "State": .string(values.state.rawValue), "Detail": .string(values.detail), "Since": .int64(values.since),
            "Backlog": .uint64(values.backlog), "DeadLetters": .uint64(values.deadLetters),
            "RoundTrip": .uint64(UInt64(max(0, values.roundTrip))),
            "Peers": .array(
                values.peers.map { peer in
                    .variants([
                        "device": .string(peer.device), "name": .string(peer.name), "online": .boolean(peer.isOnline),
                        "seen": .int64(peer.seen), "behind": .uint64(peer.behind),
                    ])
                }, of: .dictionary(keys: .string, values: .variant)),
            "Problems": .array(
                Self.problems(values).map { .structure([.string($0.reason), .string($0.advice)]) },
                of: .structure([.string, .string])),
        ]
    }

    /// What is wrong with two parts of a bridge for the same reason is told once.
    private static func problems(_ values: Values) -> [Problem] {
        var told: Set<Problem> = []
        return values.problems.sorted { $0.key < $1.key }.map(\.value).filter { told.insert($0).inserted }
    }

    /// Sends the signal about what has changed: while the lock is held, so that signals are in order.
    private static func announce(_ values: inout Values) {
        values.announcement?.cancel()
        values.announcement = nil
        guard let send = values.send, !values.changed.isEmpty else { return }
        let changed = properties(values).filter { values.changed.contains($0.key) }
        values.changed = []
        values.announced = .now
        send(
            .signal(
                "PropertiesChanged", of: "org.freedesktop.DBus.Properties", at: path,
                [.string(interface), .variants(changed), .strings([])]))
    }
}

/// What the program itself reports for every bridge, beside what a bridge reports.
extension BridgeStatus {
    /// What these problems are about.
    private enum Subject: String, CaseIterable {
        /// The configuration that was read last cannot be used.
        case configuration
        /// The disk takes nothing.
        case disk
        /// Dead letters are not kept.
        case letters
        /// notifyd takes nothing.
        case notifyd
        /// The state was damaged at the start.
        case state
    }

    private func setProblem(_ subject: Subject, _ reason: String?, _ advice: String) {
        setProblem(subject.rawValue, reason, advice)
    }

    /// Forgets what a bridge with other settings has reported; what the program itself has reported stays.
    func clearProblems() { keepProblems(Set(Subject.allCases.map(\.rawValue))) }

    /// Reports that notifyd takes no events for now, until it does.
    func setRefusal(_ reason: String?) {
        setProblem(
            .notifyd, reason.map { "notifyd takes no events for now: \($0)" },
            "They wait, and are tried again by themselves. “notifyctl doctor” says more of notifyd.")
    }

    /// Reports until the next start that the state was damaged, and begins again.
    func setBegunAnew(_ file: String, of name: String) {
        setProblem(
            .state,
            "the state was damaged when it was opened: it is set aside as \(file), and what it knew is gone",
            "Stop the bridge and put a copy back as state.db, or begin again: notifyd-\(name)(8) says what was in it.")
    }

    /// Reports that a changed configuration is not in force, until it is.
    func setConfiguration(_ error: ConfigurationError?, of name: String) {
        setProblem(
            .configuration,
            error.map { "the configuration has changed and is bad, so that the one before is in force: \($0.summary)" },
            "Correct it, then: notifyd-\(name) --check-config && systemctl --user reload notifyd-\(name)")
    }

    /// Reports that dead letters are not kept, until they are.
    func setLetters(_ reason: String?) {
        setProblem(
            .letters, reason,
            "Make room on that disk. Waiting messages are saved then; the log lists those that were dropped.")
    }

    /// Reports that the state is not written, until it is.
    func setDisk(_ error: StoreError?, _ folder: String) {
        setProblem(
            .disk, error.map { "its state cannot be written to \(folder): \($0)" },
            "Make room on that disk. What it knows is written when there is some.")
    }
}
