import NotifyText

/// Rule 4 of docs/link.md: what is missing is requested.
extension Link {
    struct Questions {
        struct Outstanding {
            let device: Device
            let question: Question
            let deadline: Uptime
        }

        var question: Outstanding?
        /// When the next question may leave; `nil` while nothing is missing.
        var next: Uptime?
        /// The device that was asked last: all get their turn.
        var last: Device?
        /// Devices whose descriptions name a higher number than was received, and when what is between counts as
        /// missing: messages may still be on their way.
        var silenceEnds: [Device: Uptime] = [:]
    }

    private static let longestRest: Duration = .seconds(300)

    /// What a description names and no message has brought is missing, after some silence.
    mutating func endSilences(at now: Now) {
        for device in questions.silenceEnds.keys.sorted() where questions.silenceEnds[device]! <= now.uptime {
            questions.silenceEnds[device] = nil
            guard let peer = peers[device], peer.record.start != nil, peer.described > peer.record.received else {
                continue
            }
            peers[device]!.open.insert(peer.record.received..<peer.described)
            peers[device]!.record.received = peer.described
            unsaved.devices.insert(device)
        }
    }

    mutating func awaitSilence(of device: Device, at now: Now) {
        guard let peer = peers[device], peer.record.start != nil, peer.described > peer.record.received,
            questions.silenceEnds[device] == nil
        else { return }
        questions.silenceEnds[device] = now.uptime + limits.silence + jitter.upTo(limits.silence)
    }

    /// When a device can get a question; `nil`: not now, or nothing is missing.
    private func questionTime(for peer: Peer, at now: Now) -> Uptime? {
        guard peer.isOnline, peer.missing != nil else { return nil }
        return max(now.uptime, peer.questionsFrom ?? now.uptime, peer.blockedUntil ?? now.uptime)
    }

    mutating func sendQuestion(at now: Now) {
        if let outstanding = questions.question {
            guard isDue(outstanding.deadline, at: now) else { return }
            questions.question = nil
            // Others first; this one again after a while.
            peers[outstanding.device]?.unansweredQuestions += 1
            let failures = peers[outstanding.device]?.unansweredQuestions ?? 0
            peers[outstanding.device]?.questionsFrom =
                now.uptime + Self.backoff(failures + 3, longest: Self.longestRest) + jitter.upTo(.seconds(1))
        }
        guard connection.isUp, isDaemonThere else {
            questions.next = nil
            return
        }
        let moments = peers.compactMapValues { questionTime(for: $0, at: now) }
        guard let earliest = moments.values.min() else {
            questions.next = nil
            return
        }
        // Many devices miss the same rows: they do not all ask at once.
        if questions.next == nil { questions.next = earliest + jitter.upTo(limits.questionDelay) }
        guard isDue(questions.next, at: now), queue.count < limits.waitingMessages / 2 else {
            if isDue(questions.next, at: now) { questions.next = now.uptime + .seconds(1) }
            return
        }
        let ready = moments.filter { $0.value <= now.uptime }.keys.sorted()
        guard let device = ready.first(where: { $0 > questions.last ?? $0 }) ?? ready.first else {
            questions.next = earliest
            return
        }
        guard let range = peers[device]!.missing else { return }
        let question = Question(id: jitter.next(), after: range.lowerBound, through: range.upperBound)
        questions.question = Questions.Outstanding(
            device: device, question: question, deadline: now.uptime + limits.questionTimeout)
        questions.next = nil
        questions.last = device
        statistics.questions += 1
        send(.question(question), to: .questions(device), at: now)
    }

    mutating func handleAnswer(_ answer: Answer, from device: Device, at now: Now) {
        guard let outstanding = questions.question, outstanding.device == device, outstanding.question.id == answer.id,
            answer.after == outstanding.question.after, answer.through <= outstanding.question.through
        else {
            statistics.duplicates += 1
            return
        }
        questions.question = nil
        peers[device]!.unansweredQuestions = 0
        unsaved.devices.insert(device)
        if answer.wait > 0 || answer.through == answer.after {
            let wait = answer.wait > 0 ? Duration.milliseconds(Int64(min(answer.wait, 600_000))) : .seconds(30)
            peers[device]!.questionsFrom = now.uptime + wait + jitter.upTo(.seconds(1))
        } else {
            peers[device]!.questionsFrom = nil
            questions.next = now.uptime
        }
        var after = answer.after
        for item in answer.items {
            let range = after..<item.number
            if peers[device]!.open.contains(item.number), !peers[device]!.pending.contains(item.number) {
                enqueue(item, range, from: device, at: now)
            }
            after = item.number
        }
        if after < answer.through {
            peers[device]!.open.remove(after..<answer.through)
        }
    }
}
