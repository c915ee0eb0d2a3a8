/// Whose limits something counts for: a program, or a connection as long as its program is not known.
enum Owner: Hashable {
    case connection(String)
    /// `nil`: all programs together that the bus cannot tell.
    case program(String?)

    /// An order among owners that have equally much.
    func precedes(_ other: Owner) -> Bool { text.utf8.lexicographicallyPrecedes(other.text.utf8) }

    private var text: String {
        switch self {
        case .connection(let name): name
        case .program(let name): name ?? ""
        }
    }
}

/// What each program has in the router's tables. A program keeps its share when it leaves the bus and comes back.
struct Owners {
    /// Entries of a table and their memory cost.
    struct Usage: Equatable {
        var count = 0
        var bytes = 0

        static func += (left: inout Usage, right: Usage) {
            left.count += right.count
            left.bytes += right.bytes
        }
    }

    /// What one owner has.
    struct Share: Equatable {
        var undecided = Usage()
        var awaited = Usage()
        var holds = 0
        var graces = 0
        var screens = 0
        /// Calls of `add` less those of `remove`.
        fileprivate(set) var entries = 0

        fileprivate mutating func add(_ other: Share, _ sign: Int = 1) {
            undecided += Usage(count: sign * other.undecided.count, bytes: sign * other.undecided.bytes)
            awaited += Usage(count: sign * other.awaited.count, bytes: sign * other.awaited.bytes)
            holds += sign * other.holds
            graces += sign * other.graces
            screens += sign * other.screens
            entries += sign * other.entries
        }
    }

    private struct Connection {
        let program: String?
        /// What it has itself of its program's entries.
        var entries = 0
        var hasLeft = false
    }

    /// The connections whose programs are known. One that has left stays while it has entries.
    private var connections: [String: Connection] = [:]
    private(set) var shares: [Owner: Share] = [:]

    var isEmpty: Bool { shares.isEmpty && connections.isEmpty }

    /// Whose limits an owner counts for now.
    func current(_ owner: Owner) -> Owner {
        guard case .connection(let name) = owner, let connection = connections[name] else { return owner }
        return .program(connection.program)
    }

    /// What the program of a connection has.
    subscript(connection: String) -> Share { shares[current(.connection(connection))] ?? Share() }

    /// The program of a connection; `nil` if it is not known.
    func program(of connection: String) -> String? { connections[connection]?.program }

    mutating func add(_ share: Share, of owner: Owner) { change(share, 1, of: owner) }

    /// Takes off what was added for the same owner.
    mutating func remove(_ share: Share, of owner: Owner) { change(share, -1, of: owner) }

    private mutating func change(_ share: Share, _ sign: Int, of owner: Owner) {
        let current = current(owner)
        var share = share
        share.entries = 1
        shares[current, default: Share()].add(share, sign)
        if shares[current]?.entries == 0 { shares[current] = nil }
        guard case .connection(let name) = owner, let index = connections.index(forKey: name) else { return }
        connections.values[index].entries += sign
        dropIfUnused(name)
    }

    /// From now on what the connection has counts for its program.
    ///
    /// - Returns: what it has.
    mutating func identify(_ name: String, as program: String?, hasLeft: Bool) -> Share {
        guard connections[name] == nil else { return Share() }
        let share = shares.removeValue(forKey: .connection(name)) ?? Share()
        connections[name] = Connection(program: program, entries: share.entries, hasLeft: hasLeft)
        if share.entries > 0 { shares[.program(program), default: Share()].add(share) }
        dropIfUnused(name)
        return share
    }

    mutating func left(_ name: String) {
        guard let index = connections.index(forKey: name) else { return }
        connections.values[index].hasLeft = true
        dropIfUnused(name)
    }

    private mutating func dropIfUnused(_ name: String) {
        if let connection = connections[name], connection.hasLeft, connection.entries == 0 { connections[name] = nil }
    }
}

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
