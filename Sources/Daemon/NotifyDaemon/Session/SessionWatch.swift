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
    var onChange: (SessionState) -> Void = { _ in }

    private let bus: BusConnection
    private let logger: Logger
    private var slots: [BusSlot] = []
    private var state = SessionState.watched
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
        slots.append(try bus.onDisconnect { [self] in update(.watched, isKnown: false) })
        for rule in [
            "path_namespace='\(Self.path)/session',interface='org.freedesktop.DBus.Properties',"
                + "member='PropertiesChanged'",
            "path='\(Self.path)',interface='\(Self.name).Manager',member='SessionNew'",
            "path='\(Self.path)',interface='\(Self.name).Manager',member='SessionRemoved'",
        ] {
            slots.append(
                try bus.match(signal: rule, from: .owner(of: Self.name) { [self] in owner }) {
                    [self] _ in refresh()
                })
        }
        slots.append(
            try bus.matchOwnerChanges("arg0='\(Self.name)'") { [self] _, name in
                owner = name
                refresh()
            })
        findOwner()
    }

    private func findOwner() {
        call(bus.busCall("GetNameOwner", about: Self.name)) { [self] answer in
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
        guard let owner else { return update(.watched, isKnown: false) }
        call(owner, Self.path, "\(Self.name).Manager", "ListSessions") { [self] answer in
            guard number == query else { return }
            guard let paths = try? Self.readSeatedSessions(answer), !paths.isEmpty else {
                return update(.watched, isKnown: false)
            }
            readSessions(owner, paths[...], number, .unwatched(idleSince: .min))
        }
    }

    /// Queries one session after the other, until one is neither locked nor idle.
    ///
    /// - Parameter others: what those say that have been asked.
    private func readSessions(_ owner: String, _ paths: ArraySlice<String>, _ number: Int, _ others: SessionState) {
        guard let path = paths.first else { return update(others, isKnown: true) }
        call(owner, path, "org.freedesktop.DBus.Properties", "GetAll", argument: "\(Self.name).Session") {
            [self] answer in
            guard number == query else { return }
            let state = (try? Self.readState(answer)) ?? .watched
            guard case (.unwatched(let since), .unwatched(let last)) = (state, others) else {
                return update(.watched, isKnown: true)
            }
            let latest: Int64? = if let since, let last { max(since, last) } else { nil }
            readSessions(owner, paths.dropFirst(), number, .unwatched(idleSince: latest))
        }
    }

    private func update(_ new: SessionState, isKnown: Bool) {
        self.isKnown = isKnown
        let wasWatched = state == .watched
        guard (new == .watched) != wasWatched else { return }
        state = new
        logger.record(wasWatched ? .unwatched : .watched)
        onChange(new)
    }

    private func call(
        _ owner: String, _ path: String, _ interface: String, _ member: String, argument: String? = nil,
        _ answer: @escaping (borrowing BusMessage) -> Void
    ) {
        let question = bus.methodCall(to: owner, path: path, interface: interface, member: member)
        if let argument { question.append(argument) }
        call(question, answer)
    }

    private func call(_ question: consuming BusMessage, _ answer: @escaping (borrowing BusMessage) -> Void) {
        bus.call(question, timeout: Self.timeout) { [logger] message in
            if let failure = message.failure, failure.isTimeout { logger.record(.noLogind, ["error": "\(failure)"]) }
            answer(message)
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

    private static func readState(_ answer: borrowing BusMessage) throws -> SessionState {
        guard answer.failure == nil, try answer.enter("a", "{sv}") else { return .watched }
        var isIdle = false
        var isLocked = false
        var since: UInt64 = 0
        while try answer.enter("e", "sv") {
            switch try answer.readString() {
            case "LockedHint": isLocked = try answer.readFlag() ?? isLocked
            case "IdleHint": isIdle = try answer.readFlag() ?? isIdle
            case "IdleSinceHint":
                if try answer.enter("v", "t") {
                    since = try answer.readNumber("t")
                    try answer.leave()
                } else {
                    try answer.skip("v")
                }
            default: try answer.skip("v")
            }
            try answer.leave()
        }
        guard isIdle || isLocked else { return .watched }
        return .unwatched(idleSince: isIdle && since > 0 ? Int64(clamping: since) : nil)
    }
}

extension BusMessage {
    /// A variant with a boolean; `nil` with anything else, which is skipped.
    fileprivate borrowing func readFlag() throws -> Bool? {
        guard try enter("v", "b") else {
            try skip("v")
            return nil
        }
        let flag = try readBoolean()
        try leave()
        return flag
    }
}

/// What logind says of the user's sessions at a seat.
enum SessionState: Equatable {
    /// One of them is neither locked nor idle, or logind knows of none.
    case watched
    /// All are locked or idle.
    ///
    /// `idleSince` is when the last of them became idle, in microseconds since the epoch; `nil` if one was locked that
    /// was not idle: its user was there until then.
    case unwatched(idleSince: Int64?)
}
