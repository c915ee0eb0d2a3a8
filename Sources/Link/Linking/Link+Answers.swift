import DequeModule
import NotifyText

/// Rule 5 of docs/link.md: questions are answered from the journal.
extension Link {
    struct Answers {
        struct Pending {
            let asker: Device
            let question: Question
        }

        var waiting = Deque<Pending>()
        /// The question whose rows are being read.
        var current: Pending?
        var next: Uptime?
        var quotas: [Device: TokenBucket] = [:]
        var quota: TokenBucket?
        /// The questions of the last minute, for ranges that many have missed.
        var recent: [(asker: Device, question: Question, at: Uptime)] = []
        /// The newest answer, until the broker has acknowledged it: its bytes, and to what it is one.
        var inFlight: (token: MessageToken, bytes: Int, asked: Pending)?
        /// The longest text of an answer.
        var longestText = Message.maximumTextBytes

        /// The broker has refused an answer, or ended the connection before it acknowledged it. It may tell nothing of
        /// its limit, so that the same answer would fail again and again: the next one is a quarter as long.
        mutating func flightFailed() {
            guard let inFlight else { return }
            longestText = max(min(longestText, inFlight.bytes / 4), Message.shortestLimit)
            waiting.prepend(inFlight.asked)
            self.inFlight = nil
        }
    }

    /// A range that so many ask for is sent to everybody.
    private static let manyAskers = 3
    private static let recentTime: Duration = .seconds(60)

    mutating func enqueueQuestion(_ question: Question, from asker: Device) {
        // The newest question of an asker counts: it has given up the others.
        answers.waiting.removeAll { $0.asker == asker }
        guard answers.waiting.count < limits.waitingQuestions else { return }
        answers.waiting.append(Answers.Pending(asker: asker, question: question))
    }

    mutating func startAnswer(at now: Now) {
        if isDue(answers.next, at: now) { answers.next = nil }
        guard connection.isUp, isDaemonThere, reads[.answer] == nil, answers.next == nil,
            let asked = answers.waiting.first
        else { return }
        func perMinute(_ rows: Int) -> TokenBucket {
            TokenBucket(every: Duration.seconds(60) / max(rows, 1), burst: rows)
        }
        let quota = answers.quotas[asked.asker] ?? perMinute(limits.answeredRowsPerAsker)
        let total = answers.quota ?? perMinute(limits.answeredRows)
        let time = now.uptime.duration
        let rows = min(quota.available(at: time), total.available(at: time), Int(limits.rowsPerPage))
        // A handful of rows is not worth a message.
        let least = min(50, limits.answeredRowsPerAsker)
        guard rows >= least else {
            let wait = max(quota.wait(for: least, at: time), total.wait(for: least, at: time))
            answers.waiting.removeFirst()
            reply(to: asked, [], through: asked.question.after, wait: wait.millisecondsRoundedUp, at: now)
            return startAnswer(at: now)
        }
        answers.quotas[asked.asker] = quota
        answers.quota = total
        answers.current = answers.waiting.removeFirst()
        readRows(for: .answer, after: asked.question.after, limit: UInt32(rows))
    }

    mutating func sendAnswer(from page: ChangesPage, at now: Now) {
        guard let asked = answers.current else { return }
        answers.current = nil
        let question = asked.question
        var items: [StreamEntry] = []
        var bytes = Message.longestFrame
        var through = question.after
        var isComplete = true
        for change in page.changes {
            guard change.number <= question.through else { break }
            if let content = content(of: change) {
                let item = StreamEntry(number: change.number, previous: through, content: fitting(content))
                let count = item.encodedCount
                guard items.isEmpty || bytes + count <= min(out.longestText, answers.longestText) else {
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
        answers.quotas[asked.asker]?.spend(items.count, at: now.uptime.duration)
        answers.quota?.spend(items.count, at: now.uptime.duration)
        statistics.answers += 1
        if isWantedByMany(asked, at: now) {
            resend(items, through: through, at: now)
            reply(to: asked, [], through: question.after, wait: 2_000, at: now)
            return
        }
        let token = reply(to: asked, items, through: through, at: now)
        if bytes > Message.shortestLimit { answers.inFlight = (token, bytes, asked) }
    }

    @discardableResult
    private mutating func reply(
        to asked: Answers.Pending, _ items: [StreamEntry], through: UInt64, wait: UInt32 = 0, at now: Now
    ) -> MessageToken {
        let question = asked.question
        let answer = Answer(id: question.id, after: question.after, through: through, items: items, wait: wait)
        return send(.answer(answer), to: .answers(asked.asker), at: now)
    }

    /// Whether so many devices have requested the beginning of the same range within a minute.
    private mutating func isWantedByMany(_ asked: Answers.Pending, at now: Now) -> Bool {
        answers.recent.removeAll { $0.at + Self.recentTime < now.uptime || $0.asker == asked.asker }
        answers.recent.append((asked.asker, asked.question, now.uptime))
        if answers.recent.count > limits.waitingQuestions { answers.recent.removeFirst() }
        let after = asked.question.after
        let askers = answers.recent.filter { $0.question.after <= after && after < $0.question.through }.count
        guard askers >= Self.manyAskers else { return false }
        answers.recent = []
        return true
    }

    /// On the stream, for all devices. The numbers are old: devices that have them ignore the entries.
    private mutating func resend(_ items: [StreamEntry], through: UInt64, at now: Now) {
        for item in items { send(.entry(item), to: .stream(own), at: now) }
        if let last = items.last, last.number < through {
            let end = StreamEntry(number: through, previous: last.number, content: .nothing)
            send(.entry(end), to: .stream(own), at: now)
        }
    }
}

/// The answers of a test: a message to every device that is online, and back.
public struct LinkTest: Equatable, Sendable {
    /// Random; the messages have it.
    public let id: UInt64
    let sent: Uptime
    /// The devices that got a `ping`, and how long each took; `nil`: it has not answered yet.
    public internal(set) var times: [Device: Duration?]

    /// Whether all have answered.
    public var isComplete: Bool { times.values.allSatisfy { $0 != nil } }
}

extension Link {
    mutating func startTest(_ id: UInt64, at now: Now) {
        let devices = connection.isUp ? peers.keys.filter { peers[$0]!.isOnline }.sorted() : []
        test = LinkTest(
            id: id, sent: now.uptime, times: Dictionary(uniqueKeysWithValues: devices.map { ($0, nil) }))
        for device in devices { send(.ping(id), to: .questions(device), at: now) }
    }

    mutating func answerPing(_ id: UInt64, from asker: Device, at now: Now) {
        guard pongs.take(at: now.uptime.duration) else {
            statistics.refused += 1
            return
        }
        send(.pong(id), to: .answers(asker), at: now)
    }

    mutating func handlePong(_ id: UInt64, from device: Device, at now: Now) {
        if confirmMark(id, from: device) { return }
        guard let test, test.id == id, test.times[device] == .some(nil) else {
            statistics.duplicates += 1
            return
        }
        let time = Duration.microseconds(now.uptime.microseconds - test.sent.microseconds)
        self.test!.times[device] = .some(time)
        peers[device]?.roundTrip = time
    }
}
