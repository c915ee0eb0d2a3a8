import DequeModule
public import NotifyText

/// Decides what this device sends on one line, the private link or a channel, and what it does with the messages of
/// others.
///
/// The line is a plain value: an input and the time go in, a list of effects comes out. There is one value for each
/// line, because lines share nothing but the journal, which all of them read by themselves: what strangers do on a
/// channel reaches neither the cursors nor the memory of the private link.
///
/// The broker only transports; the journals have what counts. docs/link.md has the rules. The terms:
/// - A device sends the rows of its journal as the *entries* of its *stream*, numbered by row, each with the number of
///   the entry before it (`Link+Sending`), not faster than the slowest device reads (`Link+FlowControl`).
/// - Other devices publish entries to their own notifyd (`Link+Receiving`). A number is *done* once notifyd has
///   answered. Below the highest number that came, it is *open* before: *pending* while notifyd has it, and *missing*
///   otherwise.
/// - They send *questions* for what is missing (`Link+Gaps`), and the device answers from its journal (`Link+Answers`).
/// - A stream *starts*, for each other device, at the number from which on that device listens to it.
///
/// Current values are written to the broker besides (`Link+Values`), for devices that come later. `Link+Presence` knows
/// who is online, `Link+Holds` holds banners for screens elsewhere, `Link+Disk` writes what a restart needs.
public struct Link {
    /// The two clocks of an input.
    public struct Now: Equatable, Sendable {
        /// For everything that takes time; goes on while the machine sleeps.
        public var uptime: Uptime
        /// Microseconds since the epoch.
        public var wall: Int64

        public init(uptime: Uptime, wall: Int64) {
            self.uptime = uptime
            self.wall = wall
        }
    }

    let own: Device
    let configuration: Configuration
    var limits: LinkLimits { configuration.limits }
    var jitter: Jitter

    // The line.
    /// `nil` until the highest number of the journal is known.
    var line: LineRecord?
    var out = Outgoing()
    var connection = Connection()
    /// The readings of the journal that have no answer yet.
    var reads: [Reading: ReadToken] = [:]
    /// Whether the shell waits for a will, to connect.
    var wantsWill = false
    /// Whether the beginning of this device's own stream is on disk. Nothing is sent before: after a crash the stream
    /// would begin once more, elsewhere, and devices would disagree about where.
    var isBeginningStored = false
    var isDaemonThere = false
    var failure: LinkFailure?
    /// The last message of a failed line, until it is acknowledged.
    var finalMessage: MessageToken?
    var hasLeft = false
    /// The test that was made last.
    public internal(set) var test: LinkTest?
    var pongs = TokenBucket(every: .milliseconds(50), burst: 64)
    var flow = FlowControl()

    // The others.
    var peers: [Device: Peer] = [:]
    /// Entries that wait for notifyd, and their bytes.
    var queue = Deque<PendingEntry>()
    var waitingBytes = 0
    /// Entries that notifyd has not answered, by their ids.
    var inCall: [UInt64: PendingEntry] = [:]
    var calls: [CallToken: UInt64] = [:]
    var isReceiving = true
    var questions = Questions()
    var answers = Answers()

    // Values, screens, holds.
    var values = Values()
    var attended: [TopicPrefix] = []
    var holds = Holds()

    // Disk and time.
    var unsaved = Unsaved()
    var disk = Disk()
    private var armed: Uptime?
    var nextDrop: Uptime?
    var lastToken: UInt64 = 0
    var effects: [LinkEffect] = []

    /// Counters since the start.
    public internal(set) var statistics = LinkStatistics()

    /// - Parameters:
    ///   - own: the property `Device` of notifyd.
    ///   - records: what `LinkEffect.store` has written.
    ///   - seed: random.
    public init(_ own: Device, _ configuration: Configuration, records: [Record] = [], seed: UInt64) {
        self.own = own
        self.configuration = configuration
        jitter = Jitter(seed: seed)
        restore(records)
    }

    /// Handles an input.
    ///
    /// - Returns: what the shell must do, in order.
    public mutating func handle(_ input: LinkInput, at now: Now) -> [LinkEffect] {
        defer { effects = [] }
        guard !hasLeft else { return [] }
        guard failure == nil else {
            handleFailed(input, at: now)
            return effects
        }
        switch input {
        case .started: nextDrop = now.uptime
        case .connecting: connect(at: now)
        case .connected: connected(at: now)
        case .disconnected: disconnected()
        case .received(let delivery): received(delivery, at: now)
        case .acknowledged(let token): acknowledged(token, at: now)
        case .textLimited(let count): limitText(to: count)
        case .daemonAppeared: daemonAppeared(at: now)
        case .daemonVanished: daemonVanished()
        case .journalChanged: (out.hasMore, out.backlog.hasMore) = (true, true)
        case .changes(let token, let page): handlePage(page, token, at: now)
        case .readFailed(let token): readFailed(token, at: now)
        case .newest(let number): handleNewest(number, at: now)
        case .answered(let token, let result): finishCall(token, result, at: now)
        case .announced(let event): announced(event, at: now)
        case .decided(let id): holds.remove(id)
        case .screenChanged(let topic, let isAttended): screenChanged(topic, isAttended: isAttended, at: now)
        case .stored(let token): stored(token, at: now)
        case .notStored(let token): notStored(token, at: now)
        case .deviceForgotten(let device): forget(device, at: now)
        case .test(let id): startTest(id, at: now)
        case .ending:
            for device in peers.keys { storeLastContact(with: device) }
            flushAll(at: now)
            return effects
        case .leave:
            leave(at: now)
            return effects
        case .timerFired: break
        }
        proceed(at: now)
        return effects
    }

    /// What is possible or due after any input.
    private mutating func proceed(at now: Now) {
        guard failure == nil else { return }
        checkJoining(at: now)
        checkDraining(at: now)
        endSilences(at: now)
        startCalls(at: now)
        checkFlow(at: now)
        sendRows(at: now)
        countBacklog(at: now)
        sendValues(at: now)
        sendQuestion(at: now)
        startAnswer(at: now)
        sendDescription(at: now)
        endCatchingUp(at: now)
        holds.expire(at: now.uptime)
        dropUnseen(at: now)
        adjustReceiving()
        flush(at: now)
        armTimer()
    }

    mutating func token() -> UInt64 {
        lastToken += 1
        return lastToken
    }

    // MARK: Time

    private mutating func armTimer() {
        let deadlines = [
            connection.joined, connection.describe, connection.drainBy, questions.next, questions.question?.deadline,
            answers.next, out.next, flow.deadline, out.backlog.next, values.check,
            values.nextExpiry, values.readAgain, holds.nextExpiry, holds.catchUpBy, disk.flush, nextDrop,
            questions.silenceEnds.values.min(),
        ]
        guard let next = deadlines.compactMap({ $0 }).min(), armed != next else { return }
        armed = next
        effects.append(.armTimer(next))
    }

    /// Whether a moment has come.
    func isDue(_ moment: Uptime?, at now: Now) -> Bool {
        moment.map { $0 <= now.uptime } ?? false
    }

    // MARK: What people see

    /// A device, as in `Bridge1.Peers`.
    public struct PeerState: Equatable, Sendable {
        public var device: Device
        public var name: String
        /// False without a connection of this device.
        public var isOnline: Bool
        /// When its last message came, in microseconds since the epoch.
        public var seen: Int64
        /// Whether entries of it are missing here.
        public var isBehind: Bool
        /// Its clock less this one, in microseconds.
        public var clockOffset: Int64
        /// How long the last `ping` took to it and back; `nil` while it is unknown.
        public var roundTrip: Duration?
        /// How many topics its user looks at, as far as they are announced.
        public var attended: Int
    }

    /// The devices, in the order of their ids, without those that have left.
    public var peerStates: [PeerState] {
        peers.keys.filter { !peers[$0]!.isKeyOnly }.sorted().map { device in
            let peer = peers[device]!
            return PeerState(
                device: device, name: peer.record.name, isOnline: connection.isUp && peer.isOnline,
                seen: max(peer.record.seen, peer.lastSeen ?? 0), isBehind: connection.isUp && peer.isBehind,
                clockOffset: -peer.offset.microseconds, roundTrip: peer.roundTrip, attended: peer.attended.count)
        }
    }

    /// Messages of others that cannot be opened, if nothing of anybody could be opened on this connection: then it is
    /// this device that has another key, or none. Beside devices whose messages can be opened, they are strangers'.
    public var unopenedMessages: Int { connection.isUp && !connection.hasOpened ? connection.unopened : 0 }

    /// Messages on this connection that were signed for another topic or with another key than their device's, that
    /// have another sender than they claim, or that were retained where nothing is.
    public var forgedMessages: Int { connection.isUp ? connection.forged : 0 }

    /// Whether messages of more devices came on this connection than a line, or a member of a channel, may have.
    public var isCrowded: Bool { connection.isUp && connection.isCrowded }
}

/// What a line has counted since its start.
public struct LinkStatistics: Equatable, Sendable {
    /// Entries that notifyd has, or will never accept.
    public var accepted = 0
    /// Messages that had come before.
    public var duplicates = 0
    /// Messages that could not be opened, that were signed for another topic or with another key than the pinned one,
    /// that have another sender than they claim, or that were retained where nothing is.
    public var forged = 0
    /// Messages that could not be read.
    public var malformed = 0
    /// Entries that are requested later, because there were too many.
    public var postponed = 0
    /// Messages beyond a quota of a channel, or too far ahead of the clock.
    public var refused = 0
    public var questions = 0
    public var answers = 0
    public var holds = 0
    /// Messages of devices beyond the limit of devices.
    public var devicesRefused = 0
}
