internal import CXCB
import DequeModule
import Systemd
import WindowRules

/// The windows of an X server, as a window manager with the Extended Window Manager Hints (EWMH 1.5) describes them.
final class X11Source: WindowSource {
    private struct Request: Hashable {
        let name: Name
        let window: UInt32
    }

    /// Requests that are under way when more windows are asked about. Each costs memory, and a thousand windows are five
    /// thousand.
    private static let mostAsked = 128
    /// After so many new windows, what it took to ask about them is given back.
    private static let manyWindows = 100
    static let everyDesktop: UInt32 = 0xFFFF_FFFF
    private let report: (SourceReport) -> Void
    private let display: String
    private var connection: X11Connection?
    private var atoms: [Name: UInt32] = [:]
    private var names: [UInt32: Name] = [:]
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
    private var changed: Set<UInt32> = []
    /// Whether more than single windows has changed.
    private var isStale = false

    /// Connects; it waits for the server to take the connection.
    init(
        display: String, loop: EventLoop, report: @escaping (SourceReport) -> Void
    ) throws(SourceFailure) {
        self.report = report
        self.display = display
        let connection = try X11Connection(
            display: display, loop: loop, changed: { [unowned self] in note($0) },
            drained: { [unowned self] in tell() },
            lost: { report(.ended("the X server \(display) has ended the connection")) })
        self.connection = connection
        for name in Name.allCases {
            connection.intern(name.rawValue) { [unowned self] atom in
                atoms[name] = atom
                names[atom] = name
                if atoms.count == Name.allCases.count { start() }
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

    private func note(_ change: X11Connection.Change) {
        switch change {
        case .destroyed(let window):
            if window == managerWindow { takeManager(0) }
            drop(window)
        case .property(let atom, let window):
            guard let name = names[atom] else { return }
            let isOfRoot = window == connection?.root
            // Programs set the old title with the new one, and nobody looks at it then.
            if name == .oldTitle, clients[window]?.hasOldTitle == false { return }
            let isAsked = isOfRoot ? Name.ofRoot.contains(name) : Name.ofWindow.contains(name)
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
        connection?.property(atoms[request.name]!, of: request.window, upTo: request.name.longest) {
            [unowned self] property in
            let hasChangedSince = asked.removeValue(forKey: request) ?? false
            if request.window == connection?.root {
                takeRoot(request.name, property)
            } else {
                take(request.name, property, of: request.window)
            }
            if hasChangedSince { ask(request) }
            askMore()
        }
    }

    private func takeRoot(_ name: Name, _ property: X11Connection.Property) {
        switch name {
        case .manager: takeManager(property.numbers.first ?? 0)
        case .active: takeActive(property.numbers.first ?? 0)
        case .currentDesktop: update(&currentDesktop, property.numbers.first ?? 0)
        case .clients: takeClients(property.numbers)
        default: break
        }
    }

    /// A window manager that was killed leaves its property behind, but not its window, which has the same property.
    private func takeManager(_ window: UInt32) {
        managerWindow = window
        guard window != 0 else { return update(&hasManager, false) }
        connection?.watch(window)
        ask(Request(name: .manager, window: window))
    }

    private func takeClients(_ windows: [UInt32]) {
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

    private func take(_ name: Name, _ property: X11Connection.Property, of window: UInt32) {
        if window == managerWindow, name == .manager { return update(&hasManager, property.numbers.first == window) }
        guard var client = clients[window] else { return }
        guard !property.isOfNoWindow else { return drop(window) }
        switch name {
        case .title:
            let title = property.text(utf8: atoms[.utf8]!)
            if !title.isEmpty {
                (client.title, client.hasOldTitle) = (title, false)
            } else if !client.hasOldTitle {
                client.hasOldTitle = true
                ask(Request(name: .oldTitle, window: window))
            }
        case .oldTitle: if client.hasOldTitle { client.title = property.text(utf8: atoms[.utf8]!) }
        case .state: client.isHidden = property.numbers.contains(atoms[.hidden]!)
        case .desktop: client.desktop = property.numbers.first ?? Self.everyDesktop
        case .programClass:
            // Two texts, each with a NUL at its end.
            let parts = property.text(utf8: atoms[.utf8]!).split(separator: "\0", omittingEmptySubsequences: false)
            client.instance = parts.first.map(String.init) ?? ""
            client.programClass = parts.count > 1 ? String(parts[1]) : ""
        default: break
        }
        let wasKnown = client.isKnown
        client.unknown &= ~name.bit
        clients[window] = client
        if wasKnown {
            changed.insert(window)
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

    private func takeActive(_ window: UInt32) {
        guard window != active else { return }
        changed.formUnion([active, window])
        active = window
    }

    /// Forgets a window that is gone, whatever the list says: its window manager may tell that late, or never.
    private func drop(_ window: UInt32) {
        guard clients.removeValue(forKey: window) != nil else { return }
        order.removeAll { $0 == window }
        isStale = true
    }

    // MARK: Telling

    private func tell() {
        if !isKnown {
            // That takes two questions: for its window, and whether that still exists.
            guard atoms.count == Name.allCases.count, !asked.keys.contains(where: { $0.name == .manager }) else {
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
        let (changed, wasStale) = (changed, isStale)
        self.changed.removeAll(keepingCapacity: true)
        isStale = false
        guard wasStale || !changed.isEmpty else { return }
        guard hasManager else {
            // What changes meanwhile is told with all windows then.
            for window in order { clients[window]?.place = -1 }
            return report(.blind("no window manager on the X server \(display) tells of its windows (EWMH)"))
        }
        report(wasStale ? .windows(collect()) : .changes(changed.compactMap { change(of: $0) }))
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

    private func change(of number: UInt32) -> (place: Int, window: Window)? {
        guard let client = clients[number], client.place >= 0 else { return nil }
        return (Int(client.place), window(number, client))
    }

    private func window(_ number: UInt32, _ client: Client) -> Window {
        Window(
            id: UInt64(number), number: UInt64(number), app: client.programClass, instance: client.instance,
            title: client.title, isFocused: number == active,
            isVisible: !client.isHidden && (client.desktop == currentDesktop || client.desktop == Self.everyDesktop))
    }
}
