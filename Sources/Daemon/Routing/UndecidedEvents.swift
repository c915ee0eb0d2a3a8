/// Counts undecided events and their memory cost, in total and by the senders' programs.
struct UndecidedEvents {
    private(set) var total = Owners.Usage()

    mutating func add(_ event: Event, in owners: inout Owners) {
        let usage = Owners.Usage(count: 1, bytes: event.memoryCost)
        total += usage
        owners.add(Owners.Share(undecided: usage), of: .connection(event.sender))
    }

    mutating func remove(_ event: Event, in owners: inout Owners) {
        let bytes = event.memoryCost
        total += Owners.Usage(count: -1, bytes: -bytes)
        owners.remove(
            Owners.Share(undecided: Owners.Usage(count: 1, bytes: bytes)), of: .connection(event.sender))
    }

    /// - Parameters:
    ///   - usage: what the sender's program has.
    ///   - unrestored: undecided events of an earlier run that are not in memory yet.
    /// - Throws: `.limitExceeded` if there is no room for another event.
    func checkRoom(
        for event: Event, _ usage: Owners.Usage, unrestored: Int, limits: Limits
    ) throws(Refusal) {
        if total.count + unrestored >= limits.undecidedEvents {
            throw .limitExceeded(
                "undecided events: there are \(limits.undecidedEvents) already; "
                    + "try again when some have been claimed or shown")
        }
        if usage.count >= limits.undecidedEventsPerProgram {
            throw .limitExceeded(
                "undecided events of one program: there are \(usage.count) of yours already; "
                    + "try again when some have been claimed or shown")
        }
        if total.bytes + event.memoryCost > limits.undecidedBytes {
            throw .limitExceeded(
                "bytes of undecided events: with this event it would be more than \(limits.undecidedBytes); "
                    + "try again when some have been claimed or shown")
        }
        if usage.bytes + event.memoryCost > limits.undecidedBytesPerProgram {
            throw .limitExceeded(
                "bytes of undecided events of one program: with this event yours would be more than "
                    + "\(limits.undecidedBytesPerProgram); try again when some have been claimed or shown")
        }
    }
}
