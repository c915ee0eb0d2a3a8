import DequeModule
public import NotifyText

/// Decides what this device sends on one line, the private link or a channel, and what it does with the messages of
/// others.
///
/// The line is a plain value: an input and the time go in, a list of effects comes out. There is one value for each
/// line, because lines share nothing but the journal, which all of them read by themselves: what strangers do on a
/// channel reaches neither the cursors nor the memory of the private link.
///
/// The broker only transports; the journals have what counts. The words are those of docs/link.md, which has the rules:
/// - A device *says* the rows of its journal: it sends them on its stream, numbered by row, each with the number of the
///   row that it said before (`Link+Out`).
/// - A device *takes* what others say: it publishes it to its own notifyd. A number counts as taken once notifyd has
///   answered. Below the highest number that came, what is *open* was not taken: it is *pending* while notifyd has it,
///   and *missing* otherwise (`Link+In`).
/// - It *asks* for what is missing (`Link+Gaps`), and the device that said it *answers* from its journal
///   (`Link+Answers`).
/// - A stream *begins* at the number from which on another device listens to it.
///
/// Current values are written to the broker besides (`Link+Values`), for devices that come later. `Link+Presence` knows
/// who is online, `Link+Holds` keeps back banners for screens elsewhere, `Link+Disk` writes what a restart needs.
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
    var configuration: Configuration
    var limits: LinkLimits { configuration.limits }
    var jitter: Jitter

    // The line.
    /// `nil` until the highest number of the journal is known.
    var line: LineRecord?
    var out = Out()
    var connection = Connection()
    var wantsWill = false
    /// Whether the beginning of this device's own stream is on disk. Nothing is said before: after a crash the stream
    /// would begin once more, elsewhere, and devices would disagree about where.
    var isBeginningKept = false
    var isDaemonThere = false
    var failure: LinkFailure?
    /// The last message of a failed line, until it is acknowledged.
    var lastWords: MessageToken?
    var hasLeft = false
    /// The test that was made last.
    public internal(set) var test: LinkTest?
    var pongs = TokenBucket(every: .milliseconds(50), burst: 64)
    var pace = Pace()

    // The others.
    var peers: [Device: Peer] = [:]
    var queue = Deque<Work>()
    var waitingBytes = 0
    var work: [WorkID: Work] = [:]
    var calls: [CallToken: WorkID] = [:]
    var isReceiving = true
    var asking = Asking()
    var answering = Answering()

    // Values, screens, holds.
    var values = Values()
    var attended: [TopicPrefix] = []
    var holds = Holds()

    // Disk and time.
    var disk = Disk()
    var armed: Uptime?
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
        case .started: start(at: now)
        case .connecting: connect(at: now)
        case .connected: connected(at: now)
        case .disconnected: disconnected()
        case .received(let delivery): received(delivery, at: now)
        case .acknowledged(let token): acknowledged(token, at: now)
        case .textLimited(let count): limitText(to: count)
        case .daemonAppeared: daemonAppeared(at: now)
        case .daemonVanished: daemonVanished()
        case .journalChanged: (out.hasMore, out.backlog.hasMore) = (true, true)
        case .changes(let token, let page): took(page, token, at: now)
        case .readFailed(let token): readFailed(token, at: now)
        case .newest(let number): foundNewest(number, at: now)
        case .answered(let token, let result): answered(token, result, at: now)
        case .announced(let event): announced(event, at: now)
        case .decided(let id): holds.remove(id)
        case .screenChanged(let topic, let isAttended): screenChanged(topic, isAttended: isAttended, at: now)
        case .stored(let token): stored(token, at: now)
        case .notStored(let token): notStored(token, at: now)
        case .reconfigured(let configuration, let keyChanged):
            reconfigure(configuration, keyChanged: keyChanged, at: now)
        case .deviceForgotten(let device): forget(device, at: now)
        case .test(let id): startTest(id, at: now)
        case .ending:
            for device in peers.keys { noteLastHeard(device) }
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
        checkSilence(at: now)
        startCalls(at: now)
        checkPace(at: now)
        say(at: now)
        countBacklog(at: now)
        sayValues(at: now)
        ask(at: now)
        answer(at: now)
        describe(at: now)
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
            connection.joined, connection.describe, connection.drainBy, asking.next, asking.question?.deadline,
            answering.next, out.next, pace.deadline,
            out.backlog.next,
            values.check, values.nextExpiry, values.readAgain, holds.nextExpiry, holds.catchUpBy, disk.flush, nextDrop,
            peers.isEmpty ? nil : suspectDeadline,
        ]
        guard let next = deadlines.compactMap({ $0 }).min(), armed != next else { return }
        armed = next
        effects.append(.armTimer(next))
    }

    private var suspectDeadline: Uptime? { asking.suspects.values.min() }

    /// Whether a moment has come.
    func isDue(_ moment: Uptime?, at now: Now) -> Bool {
        moment.map { $0 <= now.uptime } ?? false
    }

    // MARK: Configuration

    private mutating func reconfigure(_ configuration: Configuration, keyChanged: Bool, at now: Now) {
        self.configuration = configuration
        recountBacklog()
        connection.describe = now.uptime
        connection.hasNews = true
        if keyChanged {
            renameValues()
            values.writeAll()
        }
    }

    // MARK: What people see

    /// A device, as `Bridge1.Peers` tells it.
    public struct PeerState: Equatable, Sendable {
        public var device: Device
        public var name: String
        /// False without a connection of this device.
        public var isOnline: Bool
        /// When it was last heard, in microseconds since the epoch.
        public var seen: Int64
        /// Whether something that it said is missing here.
        public var isBehind: Bool
        /// Its clock less this one, in microseconds.
        public var clockOffset: Int64
        /// How long the last `ping` took to it and back; `nil` while it is unknown.
        public var roundTrip: Duration?
        /// How many topics its user looks at, as far as it tells.
        public var attended: Int
    }

    /// The devices, in the order of their ids, without those that have left.
    public var peerStates: [PeerState] {
        peers.keys.filter { !peers[$0]!.isKeyOnly }.sorted().map { device in
            let peer = peers[device]!
            return PeerState(
                device: device, name: peer.record.name, isOnline: connection.isUp && peer.isOnline,
                seen: max(peer.record.seen, peer.heardAt ?? 0), isBehind: connection.isUp && peer.isBehind,
                clockOffset: -peer.offset.microseconds, roundTrip: peer.roundTrip, attended: peer.attended.count)
        }
    }

    /// Messages of others that cannot be opened, if nothing of anybody could be opened on this connection: then it is
    /// this device that has another key, or none. Beside devices that are understood, such messages are strangers'.
    public var unopenedMessages: Int { connection.isUp && !connection.hasOpened ? connection.unopened : 0 }

    /// Messages on this connection that were signed for another topic or with another key than their device's, that
    /// speak for somebody else, or that the broker had kept where nothing is kept.
    public var forgedMessages: Int { connection.isUp ? connection.forged : 0 }

    /// Whether more devices were heard on this connection than a line, or a member of a channel, may have.
    public var isCrowded: Bool { connection.isUp && connection.isCrowded }

    /// How much memory depends on others: messages that wait, ranges, values. For tests of limits.
    public var footprint: LinkFootprint {
        LinkFootprint(
            devices: peers.count, waitingMessages: queue.count + work.count, waitingBytes: waitingBytes,
            missingRanges: peers.values.map(\.open.ranges.count).max() ?? 0,
            rows: out.rows.count, messagesInFlight: out.inFlight.count, values: values.seen.count,
            holds: holds.count, unacknowledged: disk.deliveries.count + disk.underWayDeliveries.count,
            questions: answering.waiting.count)
    }
}

/// What a line keeps in memory for others; each has a limit.
public struct LinkFootprint: Equatable, Sendable {
    public var devices: Int
    public var waitingMessages: Int
    public var waitingBytes: Int
    /// Of the device with the most.
    public var missingRanges: Int
    public var rows: Int
    public var messagesInFlight: Int
    public var values: Int
    public var holds: Int
    public var unacknowledged: Int
    public var questions: Int
}

/// What a line has counted since its start.
public struct LinkStatistics: Equatable, Sendable {
    /// Rows that were said, again included.
    public var said = 0
    /// Messages that were taken into the journal.
    public var taken = 0
    /// Messages that were taken before: duplicates.
    public var doubles = 0
    /// Messages that could not be opened, or were signed for another topic or with another key than the pinned one, or
    /// speak for somebody else, or that the broker had kept where nothing is kept.
    public var forged = 0
    /// Messages that could not be read.
    public var malformed = 0
    /// Messages that were left for later, because there were too many.
    public var postponed = 0
    /// Messages beyond a quota of a channel, or too far ahead of the clock.
    public var refused = 0
    public var questions = 0
    public var answers = 0
    public var deadLetters = 0
    public var holds = 0
    /// Messages of devices that there was no room for.
    public var devicesRefused = 0
}
