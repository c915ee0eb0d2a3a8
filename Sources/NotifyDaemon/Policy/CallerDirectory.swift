import Glibc
import Systemd

/// Knows who is behind the unique names of the bus, as far as the policy has to know, and asks the bus about the others.
///
/// Asking never waits: what a caller wants is kept until the answer is there, in its order, while everybody else is served.
/// A unique name is never used again, so what is known of one stays true until it leaves the bus.
///
/// Some buses would hand out a descriptor of the caller's process (`ProcessFD`), which no other process can pass for; but only
/// to a connection that takes descriptors from everybody, and ours takes none.
final class CallerDirectory {
    /// More connections than a bus usually has; what is forgotten is asked for again.
    private static let capacity = 10_000
    private static let patience: Duration = .seconds(5)

    /// Called when it is known who is behind a name, or that this cannot be known.
    var onIdentification: (String, Caller) -> Void = { _, _ in }
    /// How much the policy has to know.
    private(set) var need = Policy.Need.nothing
    private let bus: BusConnection
    private var known: [String: Caller] = [:]
    /// What is to be done for those whom the bus has been asked about, in its order.
    private var waiting: [String: [() -> Void]] = [:]

    init(bus: BusConnection) {
        self.bus = bus
    }

    /// Begins anew for another policy: what is known may be less than it needs, or older than its author would like.
    func require(_ need: Policy.Need) {
        self.need = need
        if need == .nothing {
            for name in waiting.keys.sorted() { settle(name, .unknown) }
        }
        known = [:]
    }

    /// Who is behind a name; unknown too where nobody has asked.
    func caller(_ name: String) -> Caller { known[name] ?? .unknown }

    /// Whether it has been found out who is behind a name, even if that is nothing.
    func isSettled(_ name: String) -> Bool { need == .nothing || known[name] != nil }

    /// Does something as soon as it is known who is behind a name, or that this cannot be known.
    func whenSettled(_ name: String, _ action: @escaping () -> Void) {
        if isSettled(name) { return action() }
        let isFirst = waiting[name] == nil
        waiting[name, default: []].append(action)
        if isFirst { identify(name) }
    }

    /// A connection has left the bus. What it wanted before is decided now, for it came before; then nothing is left of it.
    func left(_ name: String) {
        settle(name, .unknown)
        known[name] = nil
    }

    // MARK: Finding out

    private func identify(_ name: String) {
        ask("GetConnectionCredentials", about: name) { [unowned self] answer in
            guard let credentials = try? Credentials(answer) else { return settle(name, .unknown) }
            guard need == .unit, let process = credentials.process, let sighting = ProcessSighting(process: process)
            else { return settle(name, Caller(credentials, nil, owner: getuid())) }
            confirm(sighting, of: process, name, credentials)
        }
    }

    /// Between the answer of the bus and the look at the process, that may have ended and its number gone to another. If its
    /// connection is on the bus even now, and the same process is seen again, it was this one that was looked at.
    private func confirm(_ sighting: ProcessSighting, of process: Int32, _ name: String, _ credentials: Credentials) {
        ask("GetConnectionUnixProcessID", about: name) { [unowned self] answer in
            let number: UInt32? = answer.failure == nil ? try? answer.readNumber("u") : nil
            let isSame = number == UInt32(process) && ProcessSighting(process: process) == sighting
            settle(name, Caller(credentials, isSame ? sighting : nil, owner: getuid()))
        }
    }

    private func ask(_ member: String, about name: String, _ answer: @escaping (borrowing BusMessage) -> Void) {
        do throws(SystemdError) {
            try bus.call(bus.question(member, about: name), timeout: Self.patience, answer)
        } catch {
            // Only a bus that is gone takes no calls, and then the daemon ends.
            settle(name, .unknown)
        }
    }

    /// Does what has waited. Where nothing does, the one who was asked about has left, or the policy does not care any more.
    private func settle(_ name: String, _ caller: Caller) {
        guard let actions = waiting.removeValue(forKey: name) else { return }
        if known.count >= Self.capacity { known = [:] }
        known[name] = caller
        onIdentification(name, caller)
        for action in actions { action() }
    }
}
