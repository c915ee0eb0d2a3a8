import Journal
import NotifyText
import Routing
import Systemd

/// Looks up the names of the programs behind unique names.
///
/// Lookups are asynchronous, one per connection. Unlike in `CallerDirectory`, the process is not verified by a second
/// look.
final class ProgramDirectory {
    enum Lookup: Equatable {
        /// The bus has been asked; `onAnswer` follows.
        case requested
        /// The name is unknown.
        case none
        case named(String)
    }

    /// More connections than a bus usually has. A dropped one is looked up again.
    static let capacity = 10_000
    private static let timeout: Duration = .seconds(5)

    /// Called once after each `requested`, later than the look-up that returned it, with the name, its program (`nil`
    /// where nothing can be said), and whether it has left the bus.
    var onAnswer: (String, String?, Bool) -> Void = { _, _, _ in }
    private let bus: BusConnection
    private var known: [String: Lookup] = [:]

    init(bus: BusConnection) { self.bus = bus }

    /// The program behind a unique name; starts a lookup if there was none.
    func lookUp(_ name: String) -> Lookup {
        if let result = known[name] { return result }
        if known.count >= Self.capacity { known = [:] }
        known[name] = .requested
        requestProgram(of: name)
        return .requested
    }

    /// The program behind a unique name, if it is known.
    func program(of name: String) -> String? {
        guard case .named(let program)? = known[name] else { return nil }
        return program
    }

    /// Whose limits and turns count for a connection: its program's. Those whose programs are not known yet, or cannot
    /// be told, are one. Starts a lookup if there was none.
    func owner(of name: String) -> String {
        if case .named(let program) = lookUp(name) { program } else { "" }
    }

    /// A connection has left the bus. Unique names are never reused.
    func disconnected(_ name: String) { known[name] = nil }

    private func requestProgram(of name: String) {
        bus.call(bus.busCall("GetConnectionUnixProcessID", about: name), timeout: Self.timeout) { [self] answer in
            let process: UInt32? = answer.failure == nil ? try? answer.readNumber("u") : nil
            complete(name, process.flatMap { Int32(exactly: $0) }.flatMap(Self.program))
        }
    }

    /// Reported even if the connection has left, because its claims still need the name, and its calls that are queued
    /// count for the program.
    private func complete(_ name: String, _ program: String?) {
        let hasLeft = known[name] == nil
        if !hasLeft { known[name] = program.map(Lookup.named) ?? Lookup.none }
        onAnswer(name, program, hasLeft)
    }

    private static func program(process: Int32) -> String? {
        var command = ProcessIdentity.command(of: process)
        if command == ProgramName.browserHost, let parent = ProcessIdentity.parent(of: process), parent > 1 {
            command = ProcessIdentity.command(of: parent) ?? command
        }
        return ProgramName.make(unit: ProcessIdentity(process: process)?.userUnit, command: command)
    }
}

/// Programs of connections. Their names are stored with claims if known, or added later; their limits are the router's.
extension Daemon {
    /// - Returns: the program name of an event's claimant. If it is not known yet, it is stored later.
    func program(of claimant: String?, claiming id: EventID) -> String? {
        guard let claimant else { return nil }
        switch host.lookUpProgram(of: claimant) {
        case .named(let program): return program
        case .none: return nil
        case .requested:
            unnamedClaims.add(id, by: claimant)
            return nil
        }
    }

    /// The name of a connection's program is known, or cannot be found out.
    func programIdentified(_ program: String?, of claimant: String, hasLeft: Bool) {
        handle(.peer(claimant, .identified(as: program, hasLeft: hasLeft)))
        let ids = unnamedClaims.removeAll(of: claimant)
        guard let program, !ids.isEmpty else { return }
        for id in ids {
            storage.append(.named(claimant, program, id))
            if storage.isTurnLong { storage.commitPending() }
        }
        host.endTurnWhenIdle()
    }
}

/// Events claimed by connections whose programs are not known yet.
struct UnnamedClaims {
    /// Events in all. The bus replies within about a millisecond, and each event costs a write.
    static let limit = 512

    private var events: [String: [EventID]] = [:]
    private var count = 0

    /// Events above the limit get no name.
    mutating func add(_ id: EventID, by claimant: String) {
        guard count < Self.limit, events[claimant]?.last != id else { return }
        events[claimant, default: []].append(id)
        count += 1
    }

    mutating func removeAll(of claimant: String) -> [EventID] {
        let ids = events.removeValue(forKey: claimant) ?? []
        count -= ids.count
        return ids
    }
}
