import Glibc
import NotifyText
import Routing
import Systemd

/// What is known about a caller.
///
/// How far each attribute can be trusted:
///
/// - The user and the security label come from the kernel, as of the time of the connection, and cannot be changed. On
///   a session bus the user is nearly always the same, and a label exists only where AppArmor, SELinux or Smack does.
/// - The unit and the app come from the control group of the process that made the connection. A program that may write
///   to the control groups of its user, or may ask that user's service manager to start something, can be in any unit
///   it likes: so they tell well-behaved programs apart, and bind confined ones (a Flatpak app connects through a
///   proxy), but do not stop an unconfined program of the same user. Nothing does.
/// - A program that passes its connection to another one and ends is taken for the process that gets its number next.
struct Caller: Equatable, Sendable {
    /// One attribute of a caller. A rule must not take an unknown attribute for an absent one.
    enum Attribute<Value: Equatable & Sendable>: Equatable, Sendable {
        case unknown
        case absent
        case found(Value)
    }

    var user: Attribute<UInt32> = .unknown
    /// A unit of the service manager of the daemon's own user, such as `feed.service`.
    var unit: Attribute<String> = .unknown
    /// A Flatpak app, such as `org.example.Feed`.
    var app: Attribute<String> = .unknown
    /// The security label of the process, such as `snap.feed.feed`.
    var label: Attribute<String> = .unknown

    /// A caller without any known attribute.
    static let unknown = Caller()

    init() {}

    /// - Parameters:
    ///   - credentials: from the bus.
    ///   - identity: the process; `nil` if it was not looked up or not verified.
    ///   - owner: the user whose service manager runs the units in rules.
    init(_ credentials: Credentials, _ identity: ProcessIdentity?, owner: UInt32) {
        user = credentials.user.map(Attribute.found) ?? .unknown
        label = credentials.label.map(Attribute.found) ?? .absent
        if let user = credentials.user, user != owner {
            // Another user's manager may have a unit of the same name.
            unit = .absent
            app = .absent
        } else if let identity, credentials.user != nil {
            unit = identity.userUnit.map(Attribute.found) ?? .absent
            app = identity.userUnit.flatMap(Self.flatpakApp).map(Attribute.found) ?? .absent
        }
    }

    /// The app of a Flatpak scope. The scope's name is `app-flatpak-`, the app's id escaped by the rules of
    /// systemd.unit(5), which leave no `-` in it, then `-`, a number and `.scope`.
    static func flatpakApp(inUnit name: String) -> String? {
        let prefix = "app-flatpak-"
        let suffix = ".scope"
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let parts = name.dropFirst(prefix.count).dropLast(suffix.count).split(
            separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let id = parts.first, !id.isEmpty else { return nil }
        return ProgramName.unescaped(id)
    }
}

/// A caller as it is kept with a claim of an event that has not come yet: an attribute that is known to be absent is
/// empty, and one that is unknown is missing.
extension Caller {
    var fields: [Field] {
        var fields: [Field] = []
        switch user {
        case .unknown: break
        case .absent: fields.append(Field(name: "user", value: .string("")))
        case .found(let user): fields.append(Field(name: "user", value: .uint32(user)))
        }
        for (name, attribute) in [("unit", unit), ("app", app), ("label", label)] {
            switch attribute {
            case .unknown: break
            case .absent: fields.append(Field(name: name, value: .string("")))
            case .found(let text): fields.append(Field(name: name, value: .string(text)))
            }
        }
        return fields
    }

    init(_ fields: [Field]) {
        for field in fields {
            switch (field.name, field.value) {
            case ("user", .uint32(let number)): user = .found(number)
            case ("user", _): user = .absent
            case ("unit", .string(let text)): unit = text.isEmpty ? .absent : .found(text)
            case ("app", .string(let text)): app = text.isEmpty ? .absent : .found(text)
            case ("label", .string(let text)): label = text.isEmpty ? .absent : .found(text)
            default: break
            }
        }
    }
}

extension Caller: CustomStringConvertible {
    /// For errors and the log.
    var description: String {
        [
            "user \(Self.text(user))", "unit \(Self.text(unit))", "app \(Self.text(app))", "label \(Self.text(label))",
        ].joined(separator: ", ")
    }

    private static func text<Value>(_ attribute: Attribute<Value>) -> String {
        switch attribute {
        case .unknown: "unknown"
        case .absent: "none"
        case .found(let value): "\(value)"
        }
    }
}

/// The credentials of a connection: `GetConnectionCredentials` of the D-Bus specification.
struct Credentials: Equatable, Sendable {
    var user: UInt32?
    /// The process number at the time of the connection, which may have been reused: see `ProcessIdentity`.
    var process: Int32?
    var label: String?

    init(user: UInt32? = nil, process: Int32? = nil, label: String? = nil) {
        self.user = user
        self.process = process
        self.label = label
    }

    /// - Throws: an error reply, such as for a connection that is gone.
    init(_ answer: borrowing BusMessage) throws {
        if let failure = answer.failure { throw failure }
        guard try answer.enter("a", "{sv}") else { return }
        while try answer.enter("e", "sv") {
            switch try answer.readString() {
            case "UnixUserID" where try answer.enter("v", "u"):
                user = try answer.readNumber("u")
                try answer.leave()
            case "ProcessID" where try answer.enter("v", "u"):
                let number: UInt32 = try answer.readNumber("u")
                process = Int32(exactly: number)
                try answer.leave()
            case "LinuxSecurityLabel" where try answer.enter("v", "ay"):
                label = Self.label(try Self.bytes(answer))
                try answer.leave()
            default: try answer.skip("v")
            }
            try answer.leave()
        }
    }

    private static func bytes(_ answer: borrowing BusMessage) throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard try answer.enter("a", "y") else { return bytes }
        while try answer.peek() != nil { bytes.append(try answer.readNumber("y")) }
        try answer.leave()
        return bytes
    }

    /// The label as in rules: without the NUL at its end and without AppArmor's mode.
    static func label(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self), !text.isEmpty else { return nil }
        for mode in [" (enforce)", " (complain)", " (kill)", " (unconfined)", " (mixed)"] where text.hasSuffix(mode) {
            return String(text.dropLast(mode.count))
        }
        return text
    }
}

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

    init(bus: BusConnection) { self.bus = bus }

    /// Starts over for a new policy, which may need more, and should not depend on old lookups.
    func require(_ requiredIdentity: Policy.IdentityLevel) {
        self.requiredIdentity = requiredIdentity
        if requiredIdentity == .none { for name in waiting.keys.sorted() { finish(name, .unknown) } }
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
        queryBus("GetConnectionCredentials", about: name) { [self] answer in
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
        queryBus("GetConnectionUnixProcessID", about: name) { [self] answer in
            let number: UInt32? = answer.failure == nil ? try? answer.readNumber("u") : nil
            let isSame = number == UInt32(process) && ProcessIdentity(process: process) == identity
            finish(name, Caller(credentials, isSame ? identity : nil, owner: getuid()))
        }
    }

    private func queryBus(_ member: String, about name: String, _ answer: @escaping (borrowing BusMessage) -> Void) {
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
