import Glibc
import Systemd

/// The script with which KWin tells of its windows, as long as this object exists: it is loaded over the bus.
/// Its names are those of KWin 5 and 6.
final class KWinScript {
    private static let text = #"""
        // Written by notifyd-focus(8), which tells KWin to load it.
        const windows = workspace.windowList ? workspace.windowList() : workspace.clientList();
        function call(...words) { callDBus("org.notifyd.Focus1", "/org/notifyd/Focus1", "org.notifyd.FocusSource1", ...words); }
        function active() { return workspace.activeWindow !== undefined ? workspace.activeWindow : workspace.activeClient; }
        function isHere(window) {
            if (window.onAllDesktops) return true;
            if (window.desktops !== undefined && workspace.windowList) return window.desktops.includes(workspace.currentDesktop);
            return window.desktop === workspace.currentDesktop;
        }
        function tell(window) {
            if (!window || window.deleted) return;
            call("Window", "" + window.internalId, "" + window.resourceClass, "" + window.resourceName,
                 ("" + window.caption).slice(0, 1024), active() === window, !window.minimized && isHere(window));
        }
        function tellAll() {
            tell(active());
            for (const window of known) if (window !== active()) tell(window);
        }
        const known = [];
        function add(window) {
            if (!window || known.indexOf(window) >= 0) return;
            known.push(window);
            for (const name of ["captionChanged", "minimizedChanged", "desktopsChanged", "desktopChanged", "windowClassChanged"])
                if (window[name] && window[name].connect) window[name].connect(() => tell(window));
            tell(window);
        }
        function remove(window) {
            const place = known.indexOf(window);
            if (place < 0) return;
            known.splice(place, 1);
            call("Gone", "" + window.internalId);
        }
        call("Begin");
        windows.forEach(add);
        (workspace.windowAdded || workspace.clientAdded).connect(add);
        (workspace.windowRemoved || workspace.clientRemoved).connect(remove);
        (workspace.windowActivated || workspace.clientActivated).connect(tellAll);
        workspace.currentDesktopChanged.connect(tellAll);
        tellAll();

        """#
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
        try Self.write(to: path)
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

    private static func write(to path: String) throws(SourceFailure) {
        unlink(path)
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SourceFailure("\(path) cannot be written: \(String(cString: strerror(errno)))") }
        defer { close(file) }
        var text = text
        let isWritten = text.withUTF8 { Glibc.write(file, $0.baseAddress, $0.count) == $0.count }
        guard isWritten else { throw SourceFailure("\(path) cannot be written: \(String(cString: strerror(errno)))") }
    }
}
