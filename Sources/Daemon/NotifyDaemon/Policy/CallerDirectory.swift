import Glibc
import Systemd

/// Identifies the callers behind unique names, as far as the policy needs it.
///
/// Lookups are asynchronous: the calls of an unidentified caller wait in order, while other callers are served. A
/// unique name is never reused, so an identified caller stays valid until it leaves the bus.
///
/// Some buses can return a pidfd of the caller (`ProcessFD`), which cannot be reused; but only on a connection that
/// accepts file descriptors from everyone, and ours accepts none.
final class CallerDirectory {
    /// More connections than a bus usually has. A dropped one is looked up again.
    private static let capacity = 10_000
    private static let timeout: Duration = .seconds(5)

    /// Called when a caller is identified, or cannot be.
    var onIdentification: (String, Caller) -> Void = { _, _ in }
    /// What the policy needs to know.
    private(set) var requiredIdentity = Policy.IdentityLevel.none
    private let bus: BusConnection
    private var known: [String: Caller] = [:]
    /// Actions that wait for a lookup, in order.
    private var waiting: [String: [() -> Void]] = [:]

    init(bus: BusConnection) {
        self.bus = bus
    }

    /// Starts over for a new policy, which may need more, and should not depend on old lookups.
    func require(_ requiredIdentity: Policy.IdentityLevel) {
        self.requiredIdentity = requiredIdentity
        if requiredIdentity == .none {
            for name in waiting.keys.sorted() { finish(name, .unknown) }
        }
        known = [:]
    }

    /// The caller behind a name; unknown before a lookup.
    func caller(_ name: String) -> Caller { known[name] ?? .unknown }

    /// Whether the lookup of a name is finished, even without a result.
    func isIdentified(_ name: String) -> Bool { requiredIdentity == .none || known[name] != nil }

    /// Runs an action once the lookup of a name is finished.
    func whenIdentified(_ name: String, _ action: @escaping () -> Void) {
        if isIdentified(name) { return action() }
        let isFirst = waiting[name] == nil
        waiting[name, default: []].append(action)
        if isFirst { identify(name) }
    }

    /// A connection has left the bus. Its waiting calls are handled first, then it is dropped.
    func disconnected(_ name: String) {
        finish(name, .unknown)
        known[name] = nil
    }

    // MARK: Attribute out

    private func identify(_ name: String) {
        ask("GetConnectionCredentials", about: name) { [self] answer in
            guard let credentials = try? Credentials(answer) else { return finish(name, .unknown) }
            guard requiredIdentity == .unit, let process = credentials.process,
                let identity = ProcessIdentity(process: process)
            else { return finish(name, Caller(credentials, nil, owner: getuid())) }
            verify(identity, of: process, name, credentials)
        }
    }

    /// Between the bus's reply and our look at the process, the process may have ended and its number been reused. If
    /// its connection is still on the bus, and the same process is seen again, the identity is right.
    private func verify(_ identity: ProcessIdentity, of process: Int32, _ name: String, _ credentials: Credentials) {
        ask("GetConnectionUnixProcessID", about: name) { [self] answer in
            let number: UInt32? = answer.failure == nil ? try? answer.readNumber("u") : nil
            let isSame = number == UInt32(process) && ProcessIdentity(process: process) == identity
            finish(name, Caller(credentials, isSame ? identity : nil, owner: getuid()))
        }
    }

    private func ask(_ member: String, about name: String, _ answer: @escaping (borrowing BusMessage) -> Void) {
        bus.call(bus.busCall(member, about: name), timeout: Self.timeout, answer)
    }

    /// Runs the waiting actions. There are none if the caller has left, or the policy no longer needs it.
    private func finish(_ name: String, _ caller: Caller) {
        guard let actions = waiting.removeValue(forKey: name) else { return }
        if known.count >= Self.capacity { known = [:] }
        known[name] = caller
        onIdentification(name, caller)
        for action in actions { action() }
    }
}
