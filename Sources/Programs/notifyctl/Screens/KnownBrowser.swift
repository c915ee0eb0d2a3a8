import ArgumentParser
import Glibc
import NotifyText
import UserFiles

/// A browser that can start the host of notifyd's extension.
enum KnownBrowser: String, CaseIterable, ExpressibleByArgument {
    case firefox, librewolf, chromium, chrome, brave, edge, vivaldi

    /// How a browser says which extension may start a host.
    enum Family {
        case mozilla, chromium
    }

    var family: Family { self == .firefox || self == .librewolf ? .mozilla : .chromium }

    /// Its folder among a user's settings, its name as a Flatpak, and the folder for all users; `nil` if that is not
    /// known.
    private var places: (settings: String, flatpak: String, system: String?) {
        switch self {
        case .firefox: ("/.mozilla", "org.mozilla.firefox", "/usr/lib/mozilla")
        case .librewolf: ("/.librewolf", "io.gitlab.librewolf-community", nil)
        case .chromium: ("/chromium", "org.chromium.Chromium", "/etc/chromium")
        case .chrome: ("/google-chrome", "com.google.Chrome", "/etc/opt/chrome")
        case .brave: ("/BraveSoftware/Brave-Browser", "com.brave.Browser", nil)
        case .edge: ("/microsoft-edge", "com.microsoft.Edge", "/etc/opt/edge")
        case .vivaldi: ("/vivaldi", "com.vivaldi.Vivaldi", nil)
        }
    }

    /// The folder of its user's settings, which is there once it has run.
    func settings(_ folders: BrowserFolders) -> String {
        (family == .mozilla ? folders.home : folders.configuration) + places.settings
    }

    /// The sandboxes in which it has run, such as “Snap”: it cannot start programs of the system from there.
    func sandboxes(_ folders: BrowserFolders) -> [String] {
        let paths = ["Flatpak": "/.var/app/\(places.flatpak)", "Snap": "/snap/\(rawValue)"]
        return paths.filter { FileFacts.mode(of: folders.home + $0.value) != nil }.keys.sorted()
    }

    /// What is said of a browser that has run here in a sandbox alone; `nil` of any other.
    func confinement(_ folders: BrowserFolders) -> (state: String, advice: String)? {
        let sandboxes = sandboxes(folders)
        guard !sandboxes.isEmpty, !isUsed(folders) else { return nil }
        let name = rawValue
        let isPortal = self == .firefox && sandboxes == ["Snap"]
        let others =
            isPortal
            ? " That one can on desktops whose portal has org.freedesktop.portal.WebExtensions, as Ubuntu’s has." : ""
        return (
            "\(name) has run here only from \(sandboxes.joined(separator: " and ")), where a browser "
                + "cannot start notifyd-browser",
            "Use the \(name) of your distribution or of its maker’s package: notifyd-browser(8).\(others)"
        )
    }

    /// Where it looks for the manifests of the user's hosts.
    func userFolder(_ folders: BrowserFolders) -> String {
        settings(folders) + (family == .mozilla ? "/native-messaging-hosts" : "/NativeMessagingHosts")
    }

    /// Where it looks for those of all users; `nil` if that is not known.
    var systemFolder: String? { places.system.map { $0 + "/native-messaging-hosts" } }
}

/// Where browsers keep a user's files.
struct BrowserFolders {
    let home: String
    /// Such as `~/.config`.
    let configuration: String

    /// - Parameter environment: that of the user.
    init(environment: [String: String]) {
        let directories = BaseDirectories { environment[$0] }
        home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? ""
        // That of notifyd is below it.
        configuration = String(directories.configuration.dropLast("/notifyd".count))
    }
}

/// The file that tells a browser of the host.
/// [Native manifests](https://developer.mozilla.org/docs/Mozilla/Add-ons/WebExtensions/Native_manifests)
struct HostManifest: Equatable {
    static let name = "org.notifyd.browser"
    static let file = name + ".json"
    /// Of the extension in Firefox and its kin; `browser/manifest.json` has it.
    static let mozillaExtension = "browser@notifyd.org"
    /// Of the extension in Chromium and its kin, which comes of the key in `browser/manifest.json`.
    static let chromiumExtension = "mmbliaeknglnaipllidkjnfgomhncace"

    /// The path of notifyd-browser.
    let host: String

    func json(for family: KnownBrowser.Family) -> JSON {
        let extensions: JSON.Member =
            switch family {
            case .mozilla: ("allowed_extensions", .array([.string(Self.mozillaExtension)]))
            case .chromium: ("allowed_origins", .array([.string("chrome-extension://\(Self.chromiumExtension)/")]))
            }
        return .object([
            ("name", .string(Self.name)), ("description", .string("notifyd: the tab that is looked at is a screen")),
            ("path", .string(host)), ("type", .string("stdio")), extensions,
        ])
    }

    /// Reads a manifest; `nil` if there is none, or one of another extension.
    init?(at path: String, for family: KnownBrowser.Family) {
        guard let text = FileFacts.text(of: path), let json = try? JSONParser.parse(Array(text.utf8)),
            let host = json["path"]?.string
        else { return nil }
        self.host = host
        let wanted = self.json(for: family).members?.last
        guard let wanted, json[wanted.0] == wanted.1 else { return nil }
    }

    init(host: String) { self.host = host }

    /// Whether the host is there and can be started.
    var isUsable: Bool { access(host, X_OK) == 0 }
}

extension KnownBrowser {
    /// What it knows of the host: of the user's manifest, else of that of all users.
    func manifest(_ folders: BrowserFolders) -> (file: String, manifest: HostManifest)? {
        for folder in [userFolder(folders), systemFolder].compactMap(\.self) {
            let file = folder + "/" + HostManifest.file
            if let manifest = HostManifest(at: file, for: family) { return (file, manifest) }
        }
        return nil
    }

    /// Whether it seems to be used here.
    func isUsed(_ folders: BrowserFolders) -> Bool {
        // Newer versions of Firefox keep profiles there, and look for hosts where they always did.
        if self == .firefox, access(folders.configuration + "/mozilla", F_OK) == 0 { return true }
        // An earlier installation may have made the folder, for its manifest alone.
        let manifests = userFolder(folders).split(separator: "/").last.map(String.init)
        let entries = FileFacts.names(in: settings(folders)).filter { ![".", "..", manifests].contains($0) }
        return !entries.isEmpty
    }
}

/// The processes of notifyd-browser, which their browsers have started.
enum RunningHost {
    /// The programs that have started one of this user's, each once.
    static var browsers: [String] {
        var names: [String] = []
        for process in FileFacts.names(in: "/proc") where Int(process) != nil {
            // That of another user cannot be read.
            guard name(of: process) == ProgramName.browserHost else { continue }
            let browser = ProcessFacts.parent(of: process).flatMap(name) ?? "unknown"
            if !names.contains(browser) { names.append(browser) }
        }
        return names.sorted()
    }

    /// The name of the program that a process runs.
    private static func name(of process: String) -> String? {
        guard let path = FileFacts.link(at: "/proc/\(process)/exe") else { return nil }
        // After an update of the package.
        let whole = path.hasSuffix(" (deleted)") ? path.dropLast(" (deleted)".count) : path[...]
        return whole.split(separator: "/").last.map(String.init)
    }
}
