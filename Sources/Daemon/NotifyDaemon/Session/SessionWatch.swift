import Glibc
import Logging
import Systemd

/// Watches whether the user may be looking: not while all sessions of the user at a seat are locked or idle.
///
/// It asks logind on the system bus; org.freedesktop.login1(5), `LockedHint` and `IdleHint`. Without a system bus,
/// logind or such a session, as in a kiosk, the session always counts as watched.
final class SessionWatch {
    private static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let timeout: Duration = .seconds(5)

    /// Called when the result changes.
    var onChange: (_ isWatched: Bool) -> Void = { _ in }

    private let bus: BusConnection
    private let logger: Logger
    private var slots: [BusSlot] = []
    private var isWatched = true
    /// Whether logind knows a session at a seat.
    private(set) var isKnown = false
    /// The unique name of logind, while it is there.
    private var owner: String?
    /// Numbers the queries; only the latest one counts.
    private var query = 0

    private init(bus: BusConnection, logger: Logger) {
        self.bus = bus
        self.logger = logger
    }

    /// - Returns: `nil` without a system bus.
    static func start(on loop: EventLoop, logger: Logger) -> SessionWatch? {
        let address =
            getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? "unix:path=/run/dbus/system_bus_socket"
        do throws(SystemdError) {
            let watch = SessionWatch(bus: try BusConnection(address: address, waits: false), logger: logger)
            try watch.begin(on: loop)
            return watch
        } catch {
            logger.record(.noSystemBus, ["error": "\(error)"])
            return nil
        }
    }

    private func begin(on loop: EventLoop) throws(SystemdError) {
        try bus.attach(to: loop)
        slots.append(try bus.onDisconnect { [unowned self] in update(true, isKnown: false) })
        for rule in [
            "path_namespace='\(Self.path)/session',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
            "path='\(Self.path)',interface='\(Self.name).Manager',member='SessionNew'",
            "path='\(Self.path)',interface='\(Self.name).Manager',member='SessionRemoved'",
        ] {
            slots.append(
                try bus.match(signal: rule, from: .owner(of: Self.name) { [unowned self] in owner }) {
                    [unowned self] _ in refresh()
                })
        }
        slots.append(
            try bus.matchOwnerChanges("arg0='\(Self.name)'") { [unowned self] _, name in
                owner = name
                refresh()
            })
        findOwner()
    }

    private func findOwner() {
        call(bus.busCall("GetNameOwner", about: Self.name)) { [unowned self] answer in
            // The system bus may have been stopped for a while.
            if answer.failure?.isTimeout == true { findOwner() }
            owner = answer.failure == nil ? try? answer.readString() : nil
            refresh()
        }
    }

    // MARK: Asking logind

    private func refresh() {
        query += 1
        let number = query
        guard let owner else { return update(true, isKnown: false) }
        ask(owner, Self.path, "\(Self.name).Manager", "ListSessions") { [unowned self] answer in
            guard number == query else { return }
            guard let paths = try? Self.readSeatedSessions(answer), !paths.isEmpty else {
                return update(true, isKnown: false)
            }
            ask(owner, paths[...], number)
        }
    }

    /// Queries one session after the other, until one is neither locked nor idle.
    private func ask(_ owner: String, _ paths: ArraySlice<String>, _ number: Int) {
        guard let path = paths.first else { return update(false, isKnown: true) }
        ask(owner, path, "org.freedesktop.DBus.Properties", "GetAll", argument: "\(Self.name).Session") {
            [unowned self] answer in
            guard number == query else { return }
            let isAway = (try? Self.readIsAway(answer)) ?? false
            if isAway { ask(owner, paths.dropFirst(), number) } else { update(true, isKnown: true) }
        }
    }

    private func update(_ value: Bool, isKnown: Bool) {
        self.isKnown = isKnown
        guard value != isWatched else { return }
        isWatched = value
        logger.record(value ? .watched : .unwatched)
        onChange(value)
    }

    private func ask(
        _ owner: String, _ path: String, _ interface: String, _ member: String, argument: String? = nil,
        _ answer: @escaping (borrowing BusMessage) -> Void
    ) {
        let question = bus.methodCall(to: owner, path: path, interface: interface, member: member)
        if let argument { question.append(argument) }
        call(question, answer)
    }

    private func call(_ question: consuming BusMessage, _ answer: @escaping (borrowing BusMessage) -> Void) {
        do throws(SystemdError) {
            try bus.call(question, timeout: Self.timeout, answer)
        } catch {
            logger.record(.noLogind, ["error": "\(error)"])
        }
    }

    // MARK: Reading its answers

    /// The object paths of the user's sessions at a seat; others, such as those of ssh, have no display.
    private static func readSeatedSessions(_ answer: borrowing BusMessage) throws -> [String] {
        guard answer.failure == nil, try answer.enter("a", "(susso)") else { return [] }
        var paths: [String] = []
        while try answer.enter("r", "susso") {
            try answer.skip("s")
            let user: UInt32 = try answer.readNumber("u")
            try answer.skip("s")
            let seat = try answer.readString()
            let path = try answer.readString(as: "o")
            try answer.leave()
            if user == getuid(), !seat.isEmpty { paths.append(path) }
        }
        return paths
    }

    private static func readIsAway(_ answer: borrowing BusMessage) throws -> Bool {
        guard answer.failure == nil, try answer.enter("a", "{sv}") else { return false }
        while try answer.enter("e", "sv") {
            let name = try answer.readString()
            if name == "LockedHint" || name == "IdleHint", try answer.enter("v", "b") {
                if try answer.readBoolean() { return true }
                try answer.leave()
            } else {
                try answer.skip("v")
            }
            try answer.leave()
        }
        return false
    }
}
