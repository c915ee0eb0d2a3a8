import Routing

@testable import Linking

/// What must be so at the end, on all machines.
extension Simulation {
    func checkConvergence() {
        for machine in machines {
            guard let link = machine.link, !machine.hasFailed else {
                complain("\(machine.label) has failed again: \(machine.failures)")
                continue
            }
            for peer in link.peerStates where peer.isBehind && !evil.contains(peer.device) {
                let isThere = machines.contains { $0.journal.device == peer.device }
                if isThere { complain("\(machine.label) is behind \(peer.name)") }
            }
            if let letter = machine.letters.first { complain("\(machine.label) has a dead letter: \(letter)") }
            for (name, count) in machine.journal.arrivals where count > 1 && !machine.wasRestored && !hasClones {
                complain("\(name) came \(count) times to \(machine.label)")
            }
        }
        for name in events.keys.sorted() where !removalNames.contains(name) { checkEvent(name, events[name]!) }
        // Clones may give the same name to two values, and on a channel what a reset device says has a name that
        // differs.
        guard !hasClones else { return }
        for topic in Self.valueTopics.map(\.description) where !exemptTopics.contains(topic) { checkValue(topic) }
    }

    func isShared(_ topic: Topic) -> Bool { !Self.privateTopics.contains { $0.covers(topic) } }

    private func checkEvent(_ name: GlobalName, _ event: Published) {
        let holders = machines.filter { $0.journal.items[name] != nil }
        let origin = machines[event.origin]
        guard isShared(event.topic) else {
            let isNtfy = name.source.hasPrefix("ntfy")
            // With the clock and the journal, ids went back.
            let isReused = hasWrongClocks && counts.restored > 0
            if !isNtfy, !hasClones, !isReused, holders.contains(where: { $0 !== origin }) {
                complain("\(name) of a topic that is not shared is on \(holders.map(\.label))")
            }
            return
        }
        // What the origin had lost, and got back as a value that the broker had kept, it does not say again.
        guard let source = origin.journal.items[name], event.isToBeSaid, !source.via.hasPrefix("mqtt") else { return }
        let isBack = origin.wasRestored && forgotten.contains(name)
        // A broker that loses messages may lose that there are two machines. Then one of them keeps the name, and what
        // the other has said under it hides what it says.
        let isHidden = clonedDevices.contains(origin.journal.device) || origin.hasNumbersTwice
        for machine in machines where machine !== origin && !isBack && !isHidden && !hasTaken(name, machine) {
            guard let joined = machine.disk.joined, joined < event.time, !machine.hasNumbersTwice else { continue }
            complain("\(name) (row \(source.number)) of \(origin.label) is lost on \(machine.label)")
        }
        guard !isChannel, !exemptNames.contains(name), origin.disk.joined.map({ $0 < event.time }) ?? false else {
            return
        }
        // What a device did before it began on the line is its past. Those who knew it before it lost its disk may hear
        // of it.
        let isPast = holders.contains { holder in
            holder.journal.items[name]!.isRead && !(holder.disk.joined.map { $0 < event.time } ?? false)
        }
        guard !isPast else { return }
        for machine in holders {
            guard let joined = machine.disk.joined, joined < event.time else { continue }
            if machine.journal.items[name]!.isRead != source.isRead {
                complain(
                    "\(name) is \(source.isRead ? "read" : "unread") on \(origin.label), and not so on \(machine.label)"
                )
            }
        }
    }

    /// On a channel, what a reset device says of its former self may have a name that says so.
    private func hasTaken(_ name: GlobalName, _ machine: Machine) -> Bool {
        if machine.journal.arrivals[name] != nil { return true }
        guard isChannel, hasClones else { return false }
        return machine.journal.arrivals.keys.contains {
            $0.eventID == name.eventID && $0.source.hasSuffix(name.source)
        }
    }

    private func checkValue(_ topic: String) {
        let members = machines.filter { $0.disk.joined.map { $0 < 40_000_000 } ?? false && !$0.wasRestored }
        guard let first = members.first else { return }
        for machine in members.dropFirst() {
            let (left, right) = (first.journal.values[topic], machine.journal.values[topic])
            // What is over when a device joins, that device never hears of.
            if (left == nil && right?.isShort == true) || (right == nil && left?.isShort == true) { continue }
            // What a machine says under numbers that it gives twice may be hidden from some.
            let isHidden = machines.contains { machine in
                machine.hasNumbersTwice
                    && [left, right].contains { $0?.stamp.name.source.hasSuffix("\(machine.journal.device)") == true }
            }
            if isHidden { continue }
            // On a channel a value may have another name elsewhere.
            let isSame = isChannel ? left?.stamp.published == right?.stamp.published : left?.stamp == right?.stamp
            if !isSame || left?.isRemoval != right?.isRemoval {
                complain(
                    "\(topic) is \(left.map { "\($0)" } ?? "empty") on \(first.label), "
                        + "and \(right.map { "\($0)" } ?? "empty") on \(machine.label)"
                )
            }
        }
    }
}
