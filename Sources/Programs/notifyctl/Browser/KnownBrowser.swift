import ArgumentParser
import UserFiles

/// A browser that can start the host of notifyd's extension.
enum KnownBrowser: String, CaseIterable, ExpressibleByArgument {
    case firefox, librewolf, chromium, chrome, brave, edge, vivaldi

    /// How a browser says which extension may start a host.
    enum Family {
        case mozilla, chromium
    }

    var family: Family {
        switch self {
        case .firefox, .librewolf: .mozilla
        case .chromium, .chrome, .brave, .edge, .vivaldi: .chromium
        }
    }

    /// The folder of its user's settings, which is there once it has run.
    func settings(_ folders: BrowserFolders) -> String {
        switch self {
        case .firefox: folders.home + "/.mozilla"
        case .librewolf: folders.home + "/.librewolf"
        case .chromium: folders.configuration + "/chromium"
        case .chrome: folders.configuration + "/google-chrome"
        case .brave: folders.configuration + "/BraveSoftware/Brave-Browser"
        case .edge: folders.configuration + "/microsoft-edge"
        case .vivaldi: folders.configuration + "/vivaldi"
        }
    }

    /// The sandboxes in which it has run, such as “Snap”: it cannot start programs of the system from there.
    func sandboxes(_ folders: BrowserFolders) -> [String] {
        let flatpak =
            switch self {
            case .firefox: "org.mozilla.firefox"
            case .librewolf: "io.gitlab.librewolf-community"
            case .chromium: "org.chromium.Chromium"
            case .chrome: "com.google.Chrome"
            case .brave: "com.brave.Browser"
            case .edge: "com.microsoft.Edge"
            case .vivaldi: "com.vivaldi.Vivaldi"
            }
        let paths = ["Flatpak": "/.var/app/\(flatpak)", "Snap": "/snap/\(rawValue)"]
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
            "\(name) has run here only from \(sandboxes.joined(separator: " and ")), where a browser cannot start notifyd-browser",
            "Use the \(name) of your distribution or of its maker’s package: notifyd-browser(8).\(others)"
        )
    }

    /// Where it looks for the manifests of the user's hosts.
    func userFolder(_ folders: BrowserFolders) -> String {
        settings(folders) + (family == .mozilla ? "/native-messaging-hosts" : "/NativeMessagingHosts")
    }

    /// Where it looks for those of all users; `nil` if that is not known.
    var systemFolder: String? {
        switch self {
        case .firefox: "/usr/lib/mozilla/native-messaging-hosts"
        case .chromium: "/etc/chromium/native-messaging-hosts"
        case .chrome: "/etc/opt/chrome/native-messaging-hosts"
        case .edge: "/etc/opt/edge/native-messaging-hosts"
        case .librewolf, .brave, .vivaldi: nil
        }
    }
}

/// Where browsers keep a user's files.
struct BrowserFolders {
    let home: String
    let configuration: String

    /// - Parameter environment: that of the user.
    init(environment: [String: String]) {
        let directories = BaseDirectories { environment[$0] }
        home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? ""
        // That of notifyd is below it.
        configuration = String(directories.configuration.dropLast("/notifyd".count))
    }
}
