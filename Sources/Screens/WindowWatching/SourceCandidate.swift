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

    /// A word for the source.
    public var name: String {
        switch self {
        case .sway: "sway"
        case .i3: "i3"
        case .kwin: "kwin"
        case .gnome: "gnome"
        case .wayland: "wayland"
        case .x11: "x11"
        }
    }

    /// What it is called in a sentence.
    var words: String {
        switch self {
        case .sway: "sway"
        case .i3: "i3"
        case .kwin: "KWin"
        case .gnome: "GNOME Shell"
        case .wayland(let display): "the Wayland compositor \(display)"
        case .x11(let display): "the X server \(display)"
        }
    }

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
        if names.contains(KWinName.bus) { candidates.append(.kwin) }
        if names.contains(GNOMEName.bus) { candidates.append(.gnome) }
        candidates += values("WAYLAND_DISPLAY").map(SourceCandidate.wayland)
        if isWayland { candidates += displays }
        var unique: [SourceCandidate] = []
        for candidate in candidates where !unique.contains(candidate) { unique.append(candidate) }
        return unique
    }
}
