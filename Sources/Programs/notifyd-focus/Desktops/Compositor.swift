import NotifyText
import Systemd
import UserFiles
import Watching

/// A compositor of which a program inside of it reports the windows.
struct Compositor: Sendable {
    /// Its name on the bus.
    let bus: String
    /// In `XDG_CURRENT_DESKTOP`.
    let desktop: Substring
    /// Whether a program of this name is the compositor.
    let isProgram: @Sendable (String) -> Bool
    /// What to do if it reports nothing.
    let advice: String

    static let kwin = Compositor(
        bus: "org.kde.KWin", desktop: "KDE", isProgram: { $0.hasPrefix("kwin_") },
        advice: "KWin does not run the script that reports its windows; its log says why")
    static let gnome = Compositor(
        bus: "org.gnome.Shell", desktop: "GNOME", isProgram: { $0 == "gnome-shell" },
        advice: """
            GNOME Shell reports its windows with an extension: gnome-extensions enable notifyd-focus@notifyd.org \
            (up to GNOME 44 notifyd-focus-43@notifyd.org), then log out and in again
            """)
}

/// Who has the names of compositors on the bus. Any program may take a name that is free: an owner is believed in a
/// session of its desktop, or if its program is the compositor.
final class CompositorOwners {
    private struct Owner {
        /// Its unique name.
        let connection: String
        let compositor: Compositor
        /// Whether its program is the compositor.
        var isCompositor = false
    }

    private static let timeout = Duration.seconds(25)

    private let bus: BusConnection
    private let changed: (String) -> Void
    private var slots: [BusSlot] = []
    private var owners: [String: Owner] = [:]

    /// - Parameter changed: a name has another owner, or more is known about it.
    init(bus: BusConnection, changed: @escaping (String) -> Void) {
        self.bus = bus
        self.changed = changed
    }

    /// Asks for the owners that there are, and follows them.
    func start() throws(SystemdError) {
        for compositor in [Compositor.kwin, .gnome] {
            let name = compositor.bus
            slots.append(
                try bus.matchOwnerChanges("arg0='\(name)'") { [unowned self] _, owner in set(owner, of: compositor) })
            bus.call(bus.busCall("GetNameOwner", about: name), timeout: Self.timeout) { [unowned self] answer in
                if answer.failure == nil, let owner = try? answer.readString() { set(owner, of: compositor) }
            }
        }
    }

    /// The connection behind a name.
    func connection(of name: String) -> String? { owners[name]?.connection }

    /// The names whose owners are believed.
    ///
    /// - Parameter desktops: those of the session, as `XDG_CURRENT_DESKTOP` names them.
    func believed(desktops: Set<Substring>) -> Set<String> {
        Set(owners.filter { $1.isCompositor || desktops.contains($1.compositor.desktop) }.keys)
    }

    private func set(_ owner: String?, of compositor: Compositor) {
        let name = compositor.bus
        owners[name] = owner.map { Owner(connection: $0, compositor: compositor) }
        changed(name)
        guard let owner else { return }
        bus.call(bus.busCall("GetConnectionUnixProcessID", about: owner), timeout: Self.timeout) {
            [weak self] answer in
            guard answer.failure == nil, let number: UInt32 = try? answer.readNumber("u"),
                let program = Self.program(of: number), compositor.isProgram(program), let self,
                owners[name]?.connection == owner
            else { return }
            owners[name]?.isCompositor = true
            changed(name)
        }
    }

    /// The name of the file that a process runs. KWin has a capability, which hides it: then the name that the process
    /// gives itself.
    private static func program(of process: UInt32) -> String? {
        guard let path = FileKind.target(ofLink: "/proc/\(process)/exe") else {
            return Int32(exactly: process).flatMap(ProcessIdentity.command)
        }
        return path.split(separator: "/").last.map(String.init)
    }
}

/// The interface `org.notifyd.FocusSource1`, with which programs inside of compositors report windows: a script in
/// KWin, an extension of GNOME Shell. Only a compositor that is followed is believed.
final class CompositorInterface {
    private static let path = "/org/notifyd/Focus1"
    private static let name = "org.notifyd.FocusSource1"

    /// What a compositor tells.
    enum Statement {
        /// All windows follow.
        case begin
        /// A window is there, or has changed, under a name of the compositor's own.
        case window(String, Window)
        case gone(id: String)
        /// It tells no more.
        case end
    }

    private let bus: BusConnection
    private let interface = BusInterface(CompositorInterface.name)
    /// The unique name of the compositor that is believed, and what is done with its statements.
    var listener: (owner: String, apply: (Statement) -> Void)?

    init(bus: BusConnection) throws(SystemdError) {
        self.bus = bus
        interface.signal("Wanted", [])
        method("Begin", []) { _ throws(SystemdError) in .begin }
        method("End", []) { _ throws(SystemdError) in .end }
        method("Gone", [("id", "s")]) { call throws(SystemdError) in .gone(id: try call.readString()) }
        method(
            "Window",
            [("id", "s"), ("app", "s"), ("instance", "s"), ("title", "s"), ("focused", "b"), ("visible", "b")]
        ) { call throws(SystemdError) in
            .window(
                try call.readString(),
                Window(
                    id: 0, app: try call.readString(), instance: try call.readString(), title: try call.readString(),
                    isFocused: try call.readBoolean(), isVisible: try call.readBoolean()))
        }
        try interface.export(on: bus, path: Self.path)
    }

    private func method(
        _ name: String, _ arguments: [BusInterface.Argument],
        _ read: @escaping (borrowing BusMessage) throws(SystemdError) -> Statement
    ) {
        interface.method(name, in: arguments) { [unowned self] call throws(BusFailure) in
            guard let listener, call.sender == listener.owner else {
                throw BusFailure(
                    name: "org.freedesktop.DBus.Error.AccessDenied",
                    text: "only the compositor whose windows are followed may report them")
            }
            let statement: Statement
            do throws(SystemdError) { statement = try read(call) } catch {
                throw BusFailure(name: "org.freedesktop.DBus.Error.InvalidArgs", text: "\(error)")
            }
            listener.apply(statement)
            // A lost connection ends the program.
            try? bus.send(bus.methodReturn(to: call))
        }
    }

    /// Asks whoever can for all windows.
    func askForAll() {
        try? bus.send(bus.signal(path: Self.path, interface: Self.name, member: "Wanted"))
    }
}

/// The windows of a compositor, of which a program inside of it tells over the bus.
final class CompositorSource: WindowSource {
    /// Microseconds until a compositor counts as one that tells nothing.
    private static let timeout: Int64 = 3_000_000

    private let interface: CompositorInterface
    private let report: (SourceReport) -> Void
    private let advice: String
    private var reported: ReportedWindows?
    private var update: EventSource?
    private var deadline: EventSource?
    private let script: KWinScript?

    /// - Parameters:
    ///   - owner: the unique name of the compositor.
    ///   - advice: what to do if it tells nothing.
    ///   - script: makes it tell; `nil` if something in it does that by itself.
    init(
        owner: String, interface: CompositorInterface, advice: String, script: KWinScript? = nil, loop: EventLoop,
        report: @escaping (SourceReport) -> Void
    ) throws {
        self.interface = interface
        self.advice = advice
        self.script = script
        self.report = report
        // What comes at once is reported at once.
        update = try loop.deferred { [unowned self] in
            if let reported { report(.windows(reported.windows)) }
        }
        deadline = try loop.timer(.monotonic) { [unowned self] in
            if reported == nil { report(.blind(advice)) }
        }
        interface.listener = (owner, { [weak self] in self?.apply($0) })
        interface.askForAll()
        deadline?.arm(at: Clock.monotonic() + Self.timeout)
    }

    private func apply(_ statement: CompositorInterface.Statement) {
        switch statement {
        case .begin: reported = ReportedWindows()
        case .end:
            reported = nil
            return report(.blind(advice))
        case .gone(let id): reported?.remove(id)
        case .window(let id, let window): reported?.set(id, window)
        }
        update?.trigger()
    }
}

/// Windows of which a compositor tells one by one.
struct ReportedWindows {
    /// More are left out: a compositor that reports so many is broken.
    private static let most = 4096

    private var numbers: [ByteString: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var known: [UInt64: Window] = [:]
    private var order: [UInt64] = []

    /// In the order in which they were first told about.
    var windows: [Window] { order.compactMap { known[$0] } }

    /// A window is there, or has changed. If it is focused, no other one is.
    mutating func set(_ id: String, _ window: Window) {
        let number: UInt64
        if let old = numbers[id.bytes] {
            number = old
        } else {
            guard order.count < Self.most else { return }
            lastNumber += 1
            number = lastNumber
            numbers[id.bytes] = number
            order.append(number)
        }
        if window.isFocused { for other in order { known[other]?.isFocused = false } }
        known[number] = window
        known[number]?.id = number
    }

    mutating func remove(_ id: String) {
        guard let number = numbers.removeValue(forKey: id.bytes) else { return }
        known[number] = nil
        order.removeAll { $0 == number }
    }
}

/// The script with which KWin reports its windows, as long as this object exists: it is loaded over the bus. Its names,
/// in kwin/notifyd-focus.js, are those of KWin 5 and 6.
final class KWinScript {
    private static let plugin = "notifyd-focus"

    private let bus: BusConnection
    private let owner: String

    /// Has KWin load the script.
    ///
    /// - Parameters:
    ///   - owner: the unique name of KWin.
    ///   - folder: where the script is put for KWin to read.
    init(owner: String, folder: String?, bus: BusConnection) throws(SourceFailure) {
        self.bus = bus
        self.owner = owner
        guard let folder, folder.hasPrefix("/") else {
            throw SourceFailure("KWin cannot be followed without a folder for its script: XDG_RUNTIME_DIR is not set")
        }
        let path = folder + "/notifyd-focus.js"
        do throws(WholeFile.Failure) {
            try WholeFile.write(PackageResources.notifyd_focus_js, to: path)
        } catch {
            throw SourceFailure("\(path) cannot be written: \(error)")
        }
        // One that an earlier process has left would be in the way.
        call("unloadScript", [Self.plugin])
        call("loadScript", [path, Self.plugin])
        call("start", [])
    }

    deinit {
        call("unloadScript", [Self.plugin])
    }

    private func call(_ member: String, _ arguments: [String]) {
        let call = bus.methodCall(to: owner, path: "/Scripting", interface: "org.kde.kwin.Scripting", member: member)
        for argument in arguments { call.append(argument) }
        // A lost connection ends the program.
        try? bus.send(call)
    }
}
