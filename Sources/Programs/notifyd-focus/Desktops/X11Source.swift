internal import CDesktop
import DequeModule
import Systemd
import Watching

/// The windows of an X server, as a window manager with the Extended Window Manager Hints (EWMH 1.5) describes them.
final class X11Source: WindowSource {
    private struct Request: Hashable {
        let name: Name
        let window: UInt32

        private var number: UInt64 { UInt64(window) << 8 | UInt64(name.rawValue) }

        static func == (left: Request, right: Request) -> Bool { left.number == right.number }

        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    /// Requests that are under way when more windows are asked about. Each costs memory, and a thousand windows are
    /// five thousand.
    private static let mostAsked = 128
    /// After so many new windows, what it took to ask about them is given back.
    private static let manyWindows = 100
    static let everyDesktop: UInt32 = 0xFFFF_FFFF
    private let report: (SourceReport) -> Void
    private let display: String
    private var connection: X11Connection?
    /// By the number of the name; 0 is none.
    private var atoms = [UInt32](repeating: 0, count: Name.allCases.count)
    /// Atoms that the server has not told yet.
    private var missingAtoms = Name.allCases.count
    private var order: [UInt32] = []
    private var clients: [UInt32: Client] = [:]
    private var active: UInt32 = 0
    private var currentDesktop: UInt32 = 0
    /// The window by which the window manager says that it is there; 0: none.
    private var managerWindow: UInt32 = 0
    private var hasManager = false
    /// Whether the server has said if there is a window manager.
    private var isKnown = false
    /// What was asked and not answered; true: it has changed since.
    private var asked: [Request: Bool] = [:]
    /// Windows that are still to be asked about.
    private var unasked: Deque<UInt32> = []
    /// Windows that have come since memory was given back.
    private var newcomers = 0
    /// Windows that may have changed.
    private var changed: [UInt32] = []
    /// Whether more than single windows has changed.
    private var isStale = false

    /// Connects; it waits for the server to take the connection.
    init(
        display: String, loop: EventLoop, report: @escaping (SourceReport) -> Void
    ) throws {
        self.report = report
        self.display = display
        let connection = try X11Connection(
            display: display, loop: loop, changed: { [unowned self] in handle($0) },
            drained: { [unowned self] in reportChanges() },
            lost: { report(.ended("the X server \(display) has ended the connection")) })
        self.connection = connection
        for name in Name.allCases {
            connection.intern(name.text) { [unowned self] atom in
                atoms[Int(name.rawValue)] = atom
                missingAtoms -= 1
                if missingAtoms == 0 { start() }
            }
        }
        connection.drain()
    }

    private func start() {
        guard let connection else { return }
        connection.watch(connection.root)
        for name in Name.ofRoot { ask(Request(name: name, window: connection.root)) }
    }

    // MARK: Properties

    private func atom(_ name: Name) -> UInt32 { atoms[Int(name.rawValue)] }

    private func name(of atom: UInt32) -> Name? {
        atoms.firstIndex(of: atom).flatMap { Name(rawValue: UInt8($0)) }
    }

    private func handle(_ change: X11Connection.Change) {
        switch change {
        case .saver: return
        case .destroyed(let window):
            if window == managerWindow { setManager(0) }
            drop(window)
        case .property(let atom, let window):
            guard let name = name(of: atom) else { return }
            let isOfRoot = window == connection?.root
            // Programs set the old title with the new one, and nobody looks at it then.
            if name == .oldTitle, clients[window]?.hasOldTitle == false { return }
            let isAsked = isOfRoot ? name.isOfRoot : name.isOfWindow
            if isAsked, isOfRoot || clients[window] != nil { ask(Request(name: name, window: window)) }
            // A window manager may set it on the root first, or before its window is there.
            if window == managerWindow, name == .manager { ask(Request(name: .manager, window: window)) }
            if isOfRoot, !hasManager, name != .manager { ask(Request(name: .manager, window: window)) }
        }
    }

    /// Asks for a property, unless it was asked for already: then it asks again after the answer.
    private func ask(_ request: Request) {
        if asked[request] != nil {
            asked[request] = true
            return
        }
        asked[request] = false
        connection?.property(atom(request.name), of: request.window, upTo: request.name.longest) {
            [unowned self] property in
            let hasChangedSince = asked.removeValue(forKey: request) ?? false
            if request.window == connection?.root {
                setRoot(request.name, property)
            } else {
                set(request.name, property, of: request.window)
            }
            if hasChangedSince { ask(request) }
            askMore()
        }
    }

    private func setRoot(_ name: Name, _ property: X11Connection.Property) {
        switch name {
        case .manager: setManager(property.number ?? 0)
        case .active: setActive(property.number ?? 0)
        case .currentDesktop: update(&currentDesktop, property.number ?? 0)
        case .clients: setClients(property.numbers)
        default: break
        }
    }

    /// A window manager that was killed leaves its property behind, but not its window, which has the same property.
    private func setManager(_ window: UInt32) {
        managerWindow = window
        guard window != 0 else { return update(&hasManager, false) }
        connection?.watch(window)
        ask(Request(name: .manager, window: window))
    }

    private func setClients(_ windows: [UInt32]) {
        let listed = Set(windows)
        for window in order where !listed.contains(window) {
            clients[window] = nil
            connection?.ignore(window)
        }
        isStale = true
        // A list may name a window twice.
        var new: Set<UInt32> = []
        order = windows.filter { new.insert($0).inserted }
        for window in order where clients[window] == nil {
            clients[window] = Client()
            newcomers += 1
            connection?.watch(window)
            unasked.append(window)
        }
        askMore()
    }

    private func askMore() {
        while asked.count < Self.mostAsked, let window = unasked.popFirst() {
            // It may be gone by now.
            guard clients[window] != nil else { continue }
            for name in Name.ofWindow { ask(Request(name: name, window: window)) }
        }
    }

    private func set(_ name: Name, _ property: X11Connection.Property, of window: UInt32) {
        if window == managerWindow, name == .manager { return update(&hasManager, property.number == window) }
        guard var client = clients[window] else { return }
        guard !property.isOfNoWindow else { return drop(window) }
        switch name {
        case .title:
            let title = property.text(utf8: atom(.utf8))
            if !title.isEmpty {
                (client.title, client.hasOldTitle) = (title, false)
            } else if !client.hasOldTitle {
                client.hasOldTitle = true
                ask(Request(name: .oldTitle, window: window))
            }
        case .oldTitle: if client.hasOldTitle { client.title = property.text(utf8: atom(.utf8)) }
        case .state: client.isHidden = property.numbers.contains(atom(.hidden))
        case .desktop: client.desktop = property.number ?? Self.everyDesktop
        case .programClass:
            // Two texts, each with a NUL at its end.
            let parts = property.text(utf8: atom(.utf8)).split(separator: "\0", omittingEmptySubsequences: false)
            client.instance = parts.first.map(String.init) ?? ""
            client.programClass = parts.count > 1 ? String(parts[1]) : ""
        default: break
        }
        let wasKnown = client.isKnown
        client.unknown &= ~name.bit
        clients[window] = client
        if wasKnown {
            noteChange(of: window)
        } else if client.isKnown {
            isStale = true
        }
    }

    /// Takes a fact that concerns all windows.
    private func update<Value: Equatable>(_ value: inout Value, _ new: Value) {
        guard value != new else { return }
        value = new
        isStale = true
    }

    private func setActive(_ window: UInt32) {
        guard window != active else { return }
        noteChange(of: active)
        noteChange(of: window)
        active = window
    }

    private func noteChange(of window: UInt32) {
        guard let index = clients.index(forKey: window), !clients.values[index].hasChanged else { return }
        clients.values[index].hasChanged = true
        changed.append(window)
    }

    /// Forgets a window that is gone, whatever the list says: its window manager may tell that late, or never.
    private func drop(_ window: UInt32) {
        guard clients.removeValue(forKey: window) != nil else { return }
        order.removeAll { $0 == window }
        isStale = true
    }

    // MARK: Reports

    private func reportChanges() {
        if !isKnown {
            // That takes two questions: for its window, and whether that still exists.
            guard missingAtoms == 0, !asked.keys.contains(where: { $0.name == .manager }) else {
                return
            }
            isKnown = true
            isStale = true
        }
        if asked.isEmpty, newcomers > Self.manyWindows {
            // What is empty keeps its memory.
            (newcomers, asked, unasked) = (0, [:], [])
            Memory.release()
        }
        guard isStale || !changed.isEmpty else { return }
        let wasStale = isStale
        let changes = takeChanges()
        isStale = false
        guard hasManager else {
            // What changes meanwhile is told with all windows then.
            for window in order { clients[window]?.place = -1 }
            return report(.blind("no window manager on the X server \(display) reports its windows (EWMH)"))
        }
        report(wasStale ? .windows(collect()) : .changes(changes))
    }

    private func collect() -> [Window] {
        var windows: [Window] = []
        windows.reserveCapacity(order.count)
        for number in order {
            guard let client = clients[number], client.isKnown else { continue }
            clients[number]?.place = Int32(windows.count)
            windows.append(window(number, client))
        }
        return windows
    }

    /// The windows that may have changed, of those that were told. They count as told from now on.
    private func takeChanges() -> [(place: Int, window: Window)] {
        var changes: [(place: Int, window: Window)] = []
        changes.reserveCapacity(changed.count)
        for number in changed {
            guard let index = clients.index(forKey: number) else { continue }
            clients.values[index].hasChanged = false
            let client = clients.values[index]
            if client.place >= 0 { changes.append((Int(client.place), window(number, client))) }
        }
        changed.removeAll(keepingCapacity: true)
        return changes
    }

    private func window(_ number: UInt32, _ client: Client) -> Window {
        Window(
            id: UInt64(number), number: UInt64(number), app: client.programClass, instance: client.instance,
            title: client.title, isFocused: number == active,
            isVisible: !client.isHidden && (client.desktop == currentDesktop || client.desktop == Self.everyDesktop))
    }
}

extension X11Source {
    /// The properties that are read, and atoms in their values.
    ///
    /// They are numbers, because they are looked up at each change, and an enumeration of texts is compared as texts.
    enum Name: UInt8, CaseIterable {
        // Those of a window come first, and then those of the root.
        case programClass, title, oldTitle, state, desktop
        case manager, currentDesktop, active, clients
        case hidden, utf8

        static let ofWindow = allCases.filter(\.isOfWindow)
        static let ofRoot = allCases.filter(\.isOfRoot)

        /// The bits of all properties of a window.
        static let allOfWindow: UInt8 = 1 << 5 - 1

        /// The name of the atom.
        var text: String {
            switch self {
            case .manager: "_NET_SUPPORTING_WM_CHECK"
            case .clients: "_NET_CLIENT_LIST"
            case .active: "_NET_ACTIVE_WINDOW"
            case .currentDesktop: "_NET_CURRENT_DESKTOP"
            case .desktop: "_NET_WM_DESKTOP"
            case .state: "_NET_WM_STATE"
            case .hidden: "_NET_WM_STATE_HIDDEN"
            case .title: "_NET_WM_NAME"
            case .oldTitle: "WM_NAME"
            case .programClass: "WM_CLASS"
            case .utf8: "UTF8_STRING"
            }
        }

        /// A bit for each property of a window; 0 for another one.
        var bit: UInt8 { isOfWindow ? 1 << rawValue : 0 }

        var isOfWindow: Bool { rawValue <= Name.desktop.rawValue }

        var isOfRoot: Bool { (Name.manager.rawValue...Name.clients.rawValue).contains(rawValue) }

        /// Bytes that are read.
        var longest: Int {
            switch self {
            case .clients: 4 * 4096
            // A scalar has four bytes at most.
            case .title, .oldTitle: 4 * Window.longestTitle
            default: 1024
            }
        }
    }

    /// What is known about a window.
    struct Client {
        var title = ""
        var instance = ""
        var programClass = ""
        var desktop: UInt32 = X11Source.everyDesktop
        /// Where it is in what was told; -1: nowhere.
        var place: Int32 = -1
        var isHidden = false
        /// Whether it has no title but the old one, of which programs keep a copy.
        var hasOldTitle = true
        /// Whether it may have changed since windows were told.
        var hasChanged = false
        /// The bits of the properties that have not come yet.
        var unknown = Name.allOfWindow

        /// Whether all properties have come.
        var isKnown: Bool { unknown == 0 }
    }
}
