import Glibc
public import Systemd
public import Watching

/// Follows the windows of whatever desktop there is: chooses a source, and begins again when it ends.
public final class WindowFollower {
    /// What is followed, or why nothing is.
    public struct Status: Equatable, Sendable {
        /// The name of the source; empty while there is none.
        public var source = ""
        /// Whether windows are followed.
        public var isFollowing = false
        /// What is wrong, and what to do; empty if all is well.
        public var detail = ""
        /// Whether the status is about to change by itself.
        public var isPassing = false
    }

    /// Seconds between attempts.
    private static let shortestPause: Int64 = 1
    private static let longestPause: Int64 = 60
    /// Seconds until a source that reports nothing is given up.
    private static let timeout: Int64 = 10
    /// Variables that say where windows are, and how to get in.
    private static let variables = [
        "DISPLAY", "I3SOCK", "SWAYSOCK", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP",
    ]
    private static let looking = Status(detail: "looking for a desktop", isPassing: true)

    public private(set) var status = looking
    public private(set) var windows: [Window] = []
    /// The places of the focused ones in `windows`, nearly always one. To look for it among a thousand would take as
    /// long as all else that a change of the focus costs.
    public private(set) var focused: [Int] = []
    private let loop: EventLoop
    private let bus: BusConnection
    private let environment: [String: String]
    private let onWindows: () -> Void
    private let onStatus: () -> Void
    private var timer: EventSource?
    /// Goes off when a source has not reported anything in time.
    private var silence: EventSource?
    private var onSilence: () -> Void = {}
    private var source: (any WindowSource)?
    private var saver: X11Saver?
    private var candidates: ArraySlice<SourceCandidate> = []
    private var failures: [String] = []
    private var pause = shortestPause
    /// Counts the attempts, so that reports of earlier ones are ignored.
    private var attempt = 0
    private var owners: CompositorOwners?
    private let compositors: CompositorInterface

    /// Whether this process or the service manager knew of a display at the last attempt.
    private(set) var knowsDisplay = true

    /// Whether the desktop's screens are dark.
    public var isBlank: Bool { saver?.isActive ?? false }

    /// - Parameters:
    ///   - environment: of this process.
    ///   - onWindows: the windows have changed, or `isBlank`.
    ///   - onStatus: the status has changed.
    public init(
        loop: EventLoop, bus: BusConnection, environment: [String: String], onWindows: @escaping () -> Void,
        onStatus: @escaping () -> Void
    ) throws(SystemdError) {
        self.loop = loop
        self.bus = bus
        self.environment = environment
        self.onWindows = onWindows
        self.onStatus = onStatus
        compositors = try CompositorInterface(bus: bus)
        timer = try loop.timer(.monotonic) { [unowned self] in begin() }
        silence = try loop.timer(.monotonic) { [unowned self] in onSilence() }
        owners = CompositorOwners(bus: bus) { [unowned self] in ownerChanged(of: $0) }
    }

    /// Starts to look for a source.
    public func start() throws(SystemdError) {
        try owners?.start()
        // The answers come in the order of the questions.
        begin()
    }

    /// Stops following, and removes its script from the compositor.
    public func stop() { end() }

    // MARK: Attempts

    /// A compositor has come or gone, or is known to be one. A source that is followed stays, unless it is that one.
    private func ownerChanged(of name: String) {
        let source = name == Compositor.kwin.bus ? SourceCandidate.kwin : .gnome
        guard !status.isFollowing || status.source == source.name else { return }
        pause = Self.shortestPause
        end()
        set(Self.looking)
        timer?.arm(at: Clock.monotonic() + 200_000)
    }

    private func end() {
        attempt += 1
        onSilence = {}
        (source, saver) = (nil, nil)
        compositors.listener = nil
        candidates = []
        set([])
    }

    /// Looks for a source. The service manager knows the variables of a session that began after this process.
    private func begin() {
        end()
        let number = attempt
        let question = bus.methodCall(
            to: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
            interface: "org.freedesktop.DBus.Properties", member: "Get")
        question.append("org.freedesktop.systemd1.Manager")
        question.append("Environment")
        bus.call(question, timeout: .seconds(2)) { [unowned self] answer in
            guard number == attempt else { return }
            let environments = [environment, Self.environment(answer)].map { all in
                all.filter { Self.variables.contains($0.key) }
            }
            failures = []
            knowsDisplay = environments.contains { $0["DISPLAY"] != nil || $0["WAYLAND_DISPLAY"] != nil }
            let desktops = environments.compactMap { $0["XDG_CURRENT_DESKTOP"]?.split(separator: ":") }
            let names = owners?.believed(desktops: Set(desktops.joined())) ?? []
            candidates = SourceCandidate.all(in: environments, names: names)[...]
            tryNext(environments)
        }
    }

    private static func environment(_ answer: borrowing BusMessage) -> [String: String] {
        var variables: [String: String] = [:]
        guard answer.failure == nil, (try? answer.enter("v", "as")) == true, (try? answer.enter("a", "s")) == true
        else { return [:] }
        while let type = try? answer.peek(), type.type == "s", let line = try? answer.readString() {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        }
        return variables
    }

    private func tryNext(_ environments: [[String: String]]) {
        while let candidate = candidates.popFirst() {
            attempt += 1
            let number = attempt
            var isSilent = true
            let report: (SourceReport) -> Void = { [unowned self] news in
                guard number == attempt else { return }
                if isSilent { silence?.disarm() }
                isSilent = false
                handle(news, of: candidate, environments)
            }
            // The status keeps the last mistake until a source works.
            if !status.isFollowing, status.detail.isEmpty || status.isPassing {
                set(Status(detail: "connecting to \(candidate.words)", isPassing: true))
            }
            onSilence = { if isSilent { report(.ended("\(candidate.words) does not answer")) } }
            silence?.arm(at: Clock.monotonic() + Self.timeout * 1_000_000)
            do {
                let opened = try open(candidate, environments, report)
                // It may have ended by now.
                if number == attempt { source = opened }
                return
            } catch {
                failures.append("\(error)")
            }
        }
        wait()
    }

    private func open(
        _ candidate: SourceCandidate, _ environments: [[String: String]], _ report: @escaping (SourceReport) -> Void
    ) throws -> any WindowSource {
        switch candidate {
        case .x11(let display):
            useAuthority(of: display, environments)
            let source = try X11Source(display: display, loop: loop, report: report)
            // In a Wayland session the compositor blanks.
            if !environments.contains(where: { $0["WAYLAND_DISPLAY"]?.isEmpty == false }) { watchSaver(of: display) }
            return source
        case .sway(let path): return try SwaySource(path: path, loop: loop, report: report)
        case .i3(let path):
            let source = try SwaySource(path: path, loop: loop, report: report)
            if let display = environments.compactMap({ $0["DISPLAY"] }).first(where: { !$0.isEmpty }) {
                useAuthority(of: display, environments)
                watchSaver(of: display)
            }
            return source
        case .wayland(let display): return try WaylandSource(display: display, loop: loop, report: report)
        case .kwin, .gnome:
            let compositor: Compositor = candidate == .kwin ? .kwin : .gnome
            guard let owner = owners?.connection(of: compositor.bus) else {
                throw SourceFailure("\(candidate.words) has left the bus")
            }
            let script =
                try candidate == .kwin
                ? KWinScript(owner: owner, folder: environment["XDG_RUNTIME_DIR"], bus: bus) : nil
            return try CompositorSource(
                owner: owner, interface: compositors, advice: compositor.advice, script: script, loop: loop,
                report: report)
        }
    }

    private func watchSaver(of display: String) {
        saver = X11Saver(display: display, loop: loop) { [unowned self] in onWindows() }
    }

    /// libxcb reads the file with the key from the environment of the process.
    private func useAuthority(of display: String, _ environments: [[String: String]]) {
        guard let file = environments.first(where: { $0["DISPLAY"] == display })?["XAUTHORITY"] else { return }
        setenv("XAUTHORITY", file, 1)
    }

    private func handle(_ report: SourceReport, of candidate: SourceCandidate, _ environments: [[String: String]]) {
        switch report {
        case .windows(let windows):
            pause = Self.shortestPause
            set(Status(source: candidate.name, isFollowing: true))
            set(windows)
        case .changes(let changes): change(changes)
        case .blind(let reason):
            set(Status(source: candidate.name, detail: reason))
            set([])
        case .ended(let reason):
            // The next candidate may work. If this one has worked until now, the search begins again instead.
            if status.isFollowing { (candidates, failures) = ([], []) }
            attempt += 1
            (source, saver) = (nil, nil)
            failures.append(reason)
            set([])
            if candidates.isEmpty { wait() } else { tryNext(environments) }
        }
    }

    /// Tries again after a pause, which grows.
    private func wait() {
        let reason =
            failures.first
            ?? "there is no desktop here: neither WAYLAND_DISPLAY nor DISPLAY is set, here or in the service manager"
        set(Status(detail: reason))
        timer?.arm(at: Clock.monotonic() + pause * 1_000_000)
        pause = min(2 * pause, Self.longestPause)
    }

    // MARK: Results

    private func set(_ new: Status) {
        guard status != new else { return }
        status = new
        onStatus()
    }

    private func change(_ changes: [(place: Int, window: Window)]) {
        var hasNews = false
        for (place, window) in changes where windows[place] != window {
            if windows[place].isFocused != window.isFocused {
                focused.removeAll { $0 == place }
                if window.isFocused { focused.insert(place, at: focused.firstIndex { $0 > place } ?? focused.count) }
            }
            windows[place] = window
            hasNews = true
        }
        if hasNews { onWindows() }
    }

    private func set(_ new: [Window]) {
        guard !windows.isEmpty || !new.isEmpty else { return }
        windows = new
        focused = new.indices.filter { new[$0].isFocused }
        onWindows()
    }
}

/// Where windows can be followed, perhaps.
public enum SourceCandidate: Equatable, Sendable {
    /// sway or i3, by the path of their socket.
    case sway(String)
    case i3(String)
    /// KWin and GNOME Shell, by their names on the bus.
    case kwin
    case gnome
    /// A Wayland compositor, by its display.
    case wayland(String)
    case x11(String)

    /// A word for the source, and what it is called in a sentence.
    private var names: (word: String, words: String) {
        switch self {
        case .sway: ("sway", "sway")
        case .i3: ("i3", "i3")
        case .kwin: ("kwin", "KWin")
        case .gnome: ("gnome", "GNOME Shell")
        case .wayland(let display): ("wayland", "the Wayland compositor \(display)")
        case .x11(let display): ("x11", "the X server \(display)")
        }
    }

    var name: String { names.word }

    var words: String { names.words }

    /// What there is, the best first: what tells most of its windows.
    ///
    /// - Parameters:
    ///   - environments: of this process, and of others that may know better.
    ///   - names: those of compositors that have an owner on the bus.
    static func all(in environments: [[String: String]], names: Set<String>) -> [SourceCandidate] {
        func values(_ name: String) -> [String] {
            environments.compactMap { $0[name] }.filter { !$0.isEmpty }
        }
        var candidates: [SourceCandidate] = []
        candidates += values("SWAYSOCK").map(SourceCandidate.sway)
        candidates += values("I3SOCK").map(SourceCandidate.i3)
        let displays = values("DISPLAY").map(SourceCandidate.x11)
        let isWayland = !values("WAYLAND_DISPLAY").isEmpty
        // Window managers of X11 tell all by themselves; the X server of a Wayland session knows a part of the windows.
        if !isWayland { candidates += displays }
        if names.contains(Compositor.kwin.bus) { candidates.append(.kwin) }
        if names.contains(Compositor.gnome.bus) { candidates.append(.gnome) }
        candidates += values("WAYLAND_DISPLAY").map(SourceCandidate.wayland)
        if isWayland { candidates += displays }
        var unique: [SourceCandidate] = []
        for candidate in candidates where !unique.contains(candidate) { unique.append(candidate) }
        return unique
    }
}

/// Follows the windows of one kind of desktop, as long as the object exists. Everything it says, it says on the loop.
public protocol WindowSource: AnyObject {}

/// What a source says.
public enum SourceReport {
    /// The windows have changed.
    case windows([Window])
    /// Single windows may have changed, at their places among those that were told last. Whoever keeps these can change
    /// them in place: with a thousand windows, to copy all of them for each change would cost most of the time.
    case changes([(place: Int, window: Window)])
    /// It follows nothing at the moment; a sentence for people, with what to do.
    case blind(String)
    /// It has ended; a sentence for people. The object may be dropped at once.
    case ended(String)
}

/// Why a source cannot follow windows: a sentence for people.
public struct SourceFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
