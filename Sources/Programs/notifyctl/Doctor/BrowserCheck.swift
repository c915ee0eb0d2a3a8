import TOMLTables
import TabRules

/// Whether browsers can start notifyd-browser, and whether its rules are right.
struct BrowserCheck {
    /// A browser that knows notifyd-browser: its name, what it would start, and whether that is there.
    typealias Known = (name: String, host: String, isUsable: Bool)

    private static let check = "browser"

    /// The rules; `nil` if there is no file.
    var rules: Result<TabRules, ConfigurationError>?
    var browsers: [Known] = []
    /// The names of browsers that have run here and do not know it.
    var unaware: [String] = []
    /// Those that have run here in a sandbox alone, in which they cannot start it.
    var confined: [(name: String, state: String, advice: String)] = []
    /// Whether another one has run here.
    var hasFree = true
    /// The programs that have started it and not ended it.
    var connected: [String] = []

    init(
        rules: Result<TabRules, ConfigurationError>? = nil, browsers: [Known] = [], unaware: [String] = [],
        connected: [String] = []
    ) {
        self.rules = rules
        self.browsers = browsers
        self.unaware = unaware
        self.connected = connected
    }

    init(environment: [String: String], configuration: String) {
        let folders = BrowserFolders(environment: environment)
        rules = TabRules.inForce(configuration)
        for browser in KnownBrowser.allCases {
            if let known = browser.manifest(folders) {
                browsers.append((browser.rawValue, known.manifest.host, known.manifest.isUsable))
            } else if browser.isUsed(folders) {
                unaware.append(browser.rawValue)
            }
            if let (state, advice) = browser.confinement(folders) { confined.append((browser.rawValue, state, advice)) }
        }
        hasFree = KnownBrowser.allCases.contains { $0.isUsed(folders) }
        connected = RunningHost.browsers
    }

    /// None without rules: most people need none.
    var findings: [Finding] {
        let broken = browsers.filter { !$0.isUsable }.map { browser in
            Finding.problem(
                "browser \(browser.name)", "it starts \(browser.host), which is not there",
                "Tell it of the right one: notifyctl browser install \(browser.name)")
        }
        guard let rules else { return broken }
        if case .failure(let error) = rules {
            let more = error.count > 1 ? " (and more: notifyd-browser --check-config)" : ""
            return broken + [
                .problem(
                    Self.check, (error.lines.first ?? "the configuration is bad") + more,
                    "Correct it. It counts when a tab changes.")
            ]
        }
        guard broken.isEmpty else { return broken }
        // Where one is connected, its portal lets it out.
        if !hasFree, connected.isEmpty, let (_, state, advice) = confined.first {
            return [.warning(Self.check, state, advice)]
        }
        guard !browsers.isEmpty else {
            return [
                .warning(
                    Self.check, "there are rules in browser.toml, and no browser knows notifyd-browser",
                    "Tell your browsers of it: notifyctl browser install")
            ]
        }
        return [.ok(Self.check, state)]
    }

    /// Which can start it, which cannot, and which have.
    private var state: String {
        let free = browsers.map(\.name).filter { name in !confined.contains { $0.name == name } }
        var parts = free.isEmpty ? [] : ["\(free.joined(separator: ", ")) can start notifyd-browser"]
        parts += confined.map(\.state)
        if !unaware.isEmpty {
            let verb = unaware.count == 1 ? "does" : "do"
            parts.append("\(unaware.joined(separator: ", ")) \(verb) not know it (notifyctl browser install)")
        }
        parts.append(
            connected.isEmpty
                ? "no browser is connected now: one with the extension is, while it runs (notifyd-browser(8))"
                : "connected now: \(connected.map { Terminal.plain($0) }.joined(separator: ", "))")
        return parts.joined(separator: "; ")
    }
}

extension TabRules {
    /// The rules in browser.toml, or its mistakes; `nil` if there is no such file.
    ///
    /// - Parameter configuration: the folder of the file.
    static func inForce(_ configuration: String) -> Result<TabRules, ConfigurationError>? {
        let file = configuration + "/browser.toml"
        do throws(ConfigurationError) {
            guard let text = try ConfigurationText.read(file) else { return nil }
            return .success(try TabRules.read(file: file, text: text))
        } catch {
            return .failure(error)
        }
    }
}
