import DequeModule
import NotifyText

/// Rule 5 of docs/link.md: questions are answered from the journal.
extension Link {
    struct Answering {
        struct Asked {
            let asker: Device
            let question: Question
        }

        var waiting = Deque<Asked>()
        /// The question whose rows are being read.
        var current: Asked?
        var reading: ReadToken?
        var next: Uptime?
        var quotas: [Device: TokenBucket] = [:]
        var quota: TokenBucket?
        /// Who asked for what lately, for ranges that many have missed.
        var recent: [(asker: Device, question: Question, at: Uptime)] = []
        /// The newest answer, until the broker has acknowledged it: its bytes, and to what it is one.
        var inFlight: (token: MessageToken, bytes: Int, asked: Asked)?
        /// The longest text of an answer.
        var longestText = Message.maximumTextBytes

        /// The broker has refused an answer, or ended the connection before it acknowledged it. It may say nothing of
        /// its limit, so that the same answer would fail again and again: the next one is a quarter as long.
        mutating func flightFailed() {
            guard let inFlight else { return }
            longestText = max(min(longestText, inFlight.bytes / 4), Message.shortestLimit)
            waiting.prepend(inFlight.asked)
            self.inFlight = nil
        }
    }

    /// A range that so many ask for is said to everybody.
    private static let manyAskers = 3
    private static let recentTime: Duration = .seconds(60)

    mutating func asked(_ question: Question, by asker: Device, at now: Now) {
        // The newest question of an asker counts: it has given up the others.
        answering.waiting.removeAll { $0.asker == asker }
        guard answering.waiting.count < limits.waitingQuestions else { return }
        answering.waiting.append(Answering.Asked(asker: asker, question: question))
    }

    mutating func answer(at now: Now) {
        if answering.next.map({ $0 <= now.uptime }) ?? false { answering.next = nil }
        guard connection.isUp, isDaemonThere, answering.reading == nil, answering.next == nil,
            let asked = answering.waiting.first
        else { return }
        func perMinute(_ rows: Int) -> TokenBucket {
            TokenBucket(every: Duration.seconds(60) / max(rows, 1), burst: rows)
        }
        let quota = answering.quotas[asked.asker] ?? perMinute(limits.answeredRowsPerAsker)
        let total = answering.quota ?? perMinute(limits.answeredRows)
        let time = now.uptime.duration
        let rows = min(quota.available(at: time), total.available(at: time), Int(limits.rowsPerPage))
        // A handful of rows is not worth a message.
        let least = min(50, limits.answeredRowsPerAsker)
        guard rows >= least else {
            let wait = max(quota.wait(for: least, at: time), total.wait(for: least, at: time))
            answering.waiting.removeFirst()
            reply(
                to: asked,
                Answer(
                    id: asked.question.id, after: asked.question.after, through: asked.question.after, items: [],
                    wait: wait.millisecondsRoundedUp), at: now)
            return answer(at: now)
        }
        answering.quotas[asked.asker] = quota
        answering.quota = total
        let token = ReadToken(rawValue: token())
        answering.current = answering.waiting.removeFirst()
        answering.reading = token
        effects.append(.readChanges(token, after: asked.question.after, limit: UInt32(rows)))
    }

    mutating func answered(_ page: ChangesPage, at now: Now) {
        answering.reading = nil
        guard let asked = answering.current else { return }
        answering.current = nil
        let question = asked.question
        var items: [Said] = []
        var bytes = Message.longestFrame
        var through = question.after
        var isComplete = true
        for change in page.changes {
            guard change.number <= question.through else { break }
            if let content = content(of: change) {
                let item = Said(number: change.number, previous: through, content: fitting(content))
                let count = item.encodedCount
                guard items.isEmpty || bytes + count <= min(out.longestText, answering.longestText) else {
                    isComplete = false
                    break
                }
                bytes += count
                items.append(item)
            }
            through = change.number
        }
        // What is not there is not shared or gone.
        let reachesEnd = page.isLast || (page.changes.last?.number ?? 0) >= question.through
        if isComplete, reachesEnd { through = question.through }
        for index in items.indices where index > 0 { items[index].previous = items[index - 1].number }
        answering.quotas[asked.asker]?.spend(items.count, at: now.uptime.duration)
        answering.quota?.spend(items.count, at: now.uptime.duration)
        statistics.answers += 1
        if isWantedByMany(asked, at: now) {
            sayAgain(items, through: through, at: now)
            reply(
                to: asked,
                Answer(id: question.id, after: question.after, through: question.after, items: [], wait: 2_000), at: now
            )
            return
        }
        let token = reply(
            to: asked, Answer(id: question.id, after: question.after, through: through, items: items), at: now)
        if bytes > Message.shortestLimit { answering.inFlight = (token, bytes, asked) }
    }

    @discardableResult
    private mutating func reply(to asked: Answering.Asked, _ answer: Answer, at now: Now) -> MessageToken {
        say(.answer(answer), on: .answers(asked.asker), at: now)
    }

    /// Whether others have asked for the beginning of the same range within a minute.
    private mutating func isWantedByMany(_ asked: Answering.Asked, at now: Now) -> Bool {
        answering.recent.removeAll { $0.at + Self.recentTime < now.uptime || $0.asker == asked.asker }
        answering.recent.append((asked.asker, asked.question, now.uptime))
        if answering.recent.count > limits.waitingQuestions { answering.recent.removeFirst() }
        let after = asked.question.after
        let askers = answering.recent.filter { $0.question.after <= after && after < $0.question.through }.count
        guard askers >= Self.manyAskers else { return false }
        answering.recent = []
        return true
    }

    /// On the stream, where everybody hears it. Its numbers are old: whoever has them passes over it.
    private mutating func sayAgain(_ items: [Said], through: UInt64, at now: Now) {
        for item in items { _ = say(.said(item), on: .stream(own), at: now) }
        if let last = items.last, last.number < through {
            let end = Said(number: through, previous: last.number, content: .nothing)
            _ = say(.said(end), on: .stream(own), at: now)
        }
    }
}

/// The answers of a test: a message to every device that is online, and back.
public struct LinkTest: Equatable, Sendable {
    /// Random; the messages have it.
    public let id: UInt64
    let sent: Uptime
    /// The devices that were asked, and how long each took; `nil`: it has not answered yet.
    public internal(set) var times: [Device: Duration?]

    /// Whether all have answered.
    public var isComplete: Bool { times.values.allSatisfy { $0 != nil } }
}

extension Link {
    mutating func startTest(_ id: UInt64, at now: Now) {
        let devices = connection.isUp ? peers.keys.filter { peers[$0]!.isOnline }.sorted() : []
        test = LinkTest(
            id: id, sent: now.uptime, times: Dictionary(uniqueKeysWithValues: devices.map { ($0, nil) }))
        for device in devices { _ = say(.ping(id), on: .questions(device), at: now) }
    }

    mutating func pinged(_ id: UInt64, by asker: Device, at now: Now) {
        guard pongs.take(at: now.uptime.duration) else {
            statistics.refused += 1
            return
        }
        _ = say(.pong(id), on: .answers(asker), at: now)
    }

    mutating func ponged(_ id: UInt64, by device: Device, at now: Now) {
        if answeredMark(id, by: device) { return }
        guard let test, test.id == id, test.times[device] == .some(nil) else {
            statistics.doubles += 1
            return
        }
        let time = Duration.microseconds(now.uptime.microseconds - test.sent.microseconds)
        self.test!.times[device] = .some(time)
        peers[device]?.roundTrip = time
    }
}
