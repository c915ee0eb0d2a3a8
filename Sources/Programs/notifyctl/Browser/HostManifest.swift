import Glibc
import NotifyJSON

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

    init(host: String) {
        self.host = host
    }

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
