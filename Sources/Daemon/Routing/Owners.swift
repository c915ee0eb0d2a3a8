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

/// What each program has in one of the router's tables. A program keeps its share when it leaves the bus and comes
/// back.
struct Owners {
    /// Entries of a table and their memory cost.
    struct Usage: Equatable {
        var count = 0
        var bytes = 0

        fileprivate mutating func add(_ other: Usage, _ sign: Int = 1) {
            count += sign * other.count
            bytes += sign * other.bytes
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
    private(set) var shares: [Owner: Usage] = [:]
    private(set) var total = Usage()

    var isEmpty: Bool { shares.isEmpty && connections.isEmpty }

    /// Whose limits an owner counts for now.
    func current(_ owner: Owner) -> Owner {
        guard case .connection(let name) = owner, let connection = connections[name] else { return owner }
        return .program(connection.program)
    }

    /// What the program of a connection has.
    subscript(connection: String) -> Usage { shares[current(.connection(connection))] ?? Usage() }

    /// The program of a connection; `nil` if it is not known.
    func program(of connection: String) -> String? { connections[connection]?.program }

    /// Adds an entry.
    mutating func add(bytes: Int = 0, of owner: Owner) { change(Usage(count: 1, bytes: bytes), 1, of: owner) }

    /// Removes an entry that was added for the same owner.
    mutating func remove(bytes: Int = 0, of owner: Owner) { change(Usage(count: 1, bytes: bytes), -1, of: owner) }

    private mutating func change(_ usage: Usage, _ sign: Int, of owner: Owner) {
        let current = current(owner)
        total.add(usage, sign)
        shares[current, default: Usage()].add(usage, sign)
        if shares[current]?.count == 0 { shares[current] = nil }
        guard case .connection(let name) = owner, let index = connections.index(forKey: name) else { return }
        connections.values[index].entries += sign
        dropIfUnused(name)
    }

    /// What a connection whose program is known has counts for the program from then on.
    mutating func learn(_ news: PeerNews, of name: String) {
        switch news {
        case .identified(let program, let hasLeft):
            guard connections[name] == nil else { return }
            let usage = shares.removeValue(forKey: .connection(name)) ?? Usage()
            connections[name] = Connection(program: program, entries: usage.count, hasLeft: hasLeft)
            if usage.count > 0 { shares[.program(program), default: Usage()].add(usage) }
        case .left: connections[name]?.hasLeft = true
        }
        dropIfUnused(name)
    }

    private mutating func dropIfUnused(_ name: String) {
        if let connection = connections[name], connection.hasLeft, connection.entries == 0 { connections[name] = nil }
    }
}
