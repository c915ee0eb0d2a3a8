/// Counts undecided events and their memory cost, in total and by sender.
struct UndecidedEvents {
    struct Usage: Equatable {
        var events = 0
        var bytes = 0

        mutating func add(_ event: Event) {
            events += 1
            bytes += event.memoryCost
        }

        mutating func remove(_ event: Event) {
            events -= 1
            bytes -= event.memoryCost
        }
    }

    private(set) var total = Usage()
    private(set) var bySender: [String: Usage] = [:]

    mutating func add(_ event: Event) {
        total.add(event)
        bySender[event.sender, default: Usage()].add(event)
    }

    mutating func remove(_ event: Event) {
        total.remove(event)
        guard let index = bySender.index(forKey: event.sender) else { return }
        bySender.values[index].remove(event)
        if bySender.values[index].events == 0 { bySender.remove(at: index) }
    }

    /// - Parameter unrestored: undecided events of an earlier run that are not in memory yet.
    /// - Returns: why there is no room for another event; `nil` where there is.
    func refusal(of event: Event, unrestored: Int, limits: Limits) -> Refusal? {
        if total.events + unrestored >= limits.undecidedEvents {
            return .limitExceeded(
                "undecided events: there are \(limits.undecidedEvents) already; "
                    + "try again when some have been claimed or shown")
        }
        let usage = bySender[event.sender] ?? Usage()
        if usage.events >= limits.undecidedEventsPerSender {
            return .limitExceeded(
                "undecided events of one sender: there are \(usage.events) of yours already; "
                    + "try again when some have been claimed or shown")
        }
        if total.bytes + event.memoryCost > limits.undecidedBytes {
            return .limitExceeded(
                "bytes of undecided events: with this event it would be more than \(limits.undecidedBytes); "
                    + "try again when some have been claimed or shown")
        }
        if usage.bytes + event.memoryCost > limits.undecidedBytesPerSender {
            return .limitExceeded(
                "bytes of undecided events of one sender: with this event yours would be more than "
                    + "\(limits.undecidedBytesPerSender); try again when some have been claimed or shown")
        }
        return nil
    }
}
