import NotifyText

/// Rule 4 of docs/link.md: what is missing is asked for.
extension Link {
    struct Asking {
        struct Outstanding {
            let device: Device
            let question: Question
            let deadline: Uptime
        }

        var question: Outstanding?
        /// When the next question may leave; `nil` while nothing is missing.
        var next: Uptime?
        /// Who was asked last: all get their turn.
        var last: Device?
        /// Devices whose descriptions know more than was received, and until when their silence lasts.
        var suspects: [Device: Uptime] = [:]
    }

    private static let longestRest: Duration = .seconds(300)

    /// What a description knows and no message has said is missing, after some silence.
    mutating func checkSilence(at now: Now) {
        for device in asking.suspects.keys.sorted() where asking.suspects[device]! <= now.uptime {
            asking.suspects[device] = nil
            guard let peer = peers[device], peer.record.start != nil, peer.described > peer.record.taken else {
                continue
            }
            peers[device]!.open.insert(RangeSet.Range(after: peer.record.taken, through: peer.described))
            peers[device]!.record.taken = peer.described
            disk.devices.insert(device)
        }
    }

    mutating func suspect(_ device: Device, at now: Now) {
        guard let peer = peers[device], peer.record.start != nil, peer.described > peer.record.taken,
            asking.suspects[device] == nil
        else { return }
        asking.suspects[device] = now.uptime + limits.silence + jitter.upTo(limits.silence)
    }

    /// When a device can be asked; `nil`: not now, or nothing is missing.
    private func moment(for peer: Peer, at now: Now) -> Uptime? {
        guard peer.isOnline, peer.missing != nil else { return nil }
        return max(now.uptime, peer.askAgain ?? now.uptime, peer.blockedUntil ?? now.uptime)
    }

    mutating func ask(at now: Now) {
        if let outstanding = asking.question {
            guard isDue(outstanding.deadline, at: now) else { return }
            asking.question = nil
            // Others first; this one again after a while.
            peers[outstanding.device]?.unanswered += 1
            let failures = peers[outstanding.device]?.unanswered ?? 0
            peers[outstanding.device]?.askAgain =
                now.uptime + Self.backoff(failures + 3, longest: Self.longestRest) + jitter.upTo(.seconds(1))
        }
        guard connection.isUp, isDaemonThere else {
            asking.next = nil
            return
        }
        let moments = peers.compactMapValues { moment(for: $0, at: now) }
        guard let earliest = moments.values.min() else {
            asking.next = nil
            return
        }
        // Many have missed the same: they do not ask all at once.
        if asking.next == nil { asking.next = earliest + jitter.upTo(limits.questionDelay) }
        guard isDue(asking.next, at: now), queue.count < limits.waitingMessages / 2 else {
            if isDue(asking.next, at: now) { asking.next = now.uptime + .seconds(1) }
            return
        }
        let ready = moments.filter { $0.value <= now.uptime }.keys.sorted()
        guard let device = ready.first(where: { $0 > asking.last ?? $0 }) ?? ready.first else {
            asking.next = earliest
            return
        }
        guard let range = peers[device]!.missing else { return }
        let question = Question(id: jitter.next(), after: range.after, through: range.through)
        asking.question = Asking.Outstanding(
            device: device, question: question, deadline: now.uptime + limits.questionTimeout)
        asking.next = nil
        asking.last = device
        statistics.questions += 1
        _ = say(.question(question), on: .questions(device), at: now)
    }

    mutating func answered(_ answer: Answer, by device: Device, at now: Now) {
        guard let outstanding = asking.question, outstanding.device == device, outstanding.question.id == answer.id,
            answer.after == outstanding.question.after, answer.through <= outstanding.question.through
        else {
            statistics.doubles += 1
            return
        }
        asking.question = nil
        peers[device]!.unanswered = 0
        disk.devices.insert(device)
        if answer.wait > 0 || answer.through == answer.after {
            let wait = answer.wait > 0 ? Duration.milliseconds(Int64(min(answer.wait, 600_000))) : .seconds(30)
            peers[device]!.askAgain = now.uptime + wait + jitter.upTo(.seconds(1))
        } else {
            peers[device]!.askAgain = nil
            asking.next = now.uptime
        }
        var after = answer.after
        for item in answer.items {
            let range = RangeSet.Range(after: after, through: item.number)
            if peers[device]!.open.contains(item.number), !peers[device]!.pending.contains(item.number) {
                enqueue(item, range, from: device, nil, at: now)
            }
            after = item.number
        }
        if after < answer.through {
            peers[device]!.open.remove(RangeSet.Range(after: after, through: answer.through))
        }
    }
}
