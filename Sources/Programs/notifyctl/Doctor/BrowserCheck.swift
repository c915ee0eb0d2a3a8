/// Whether browsers can start notifyd-browser.
struct BrowserCheck {
    /// Whether there are rules for it.
    var hasRules = false
    /// The browsers that know it: their names, what they would start, and whether that is there.
    var browsers: [(name: String, host: String, isUsable: Bool)] = []

    init(hasRules: Bool = false, browsers: [(name: String, host: String, isUsable: Bool)] = []) {
        self.hasRules = hasRules
        self.browsers = browsers
    }

    init(environment: [String: String], configuration: String) {
        let folders = BrowserFolders(environment: environment)
        hasRules = FileFacts.mode(of: configuration + "/browser.toml") != nil
        browsers = KnownBrowser.allCases.compactMap { browser in
            browser.manifest(folders).map { (browser.rawValue, $0.manifest.host, $0.manifest.isUsable) }
        }
    }

    /// None without rules: most people need none.
    var findings: [Finding] {
        let broken = browsers.filter { !$0.isUsable }.map { browser in
            Finding.problem(
                "browser \(browser.name)", "it starts \(browser.host), which is not there",
                "Tell it of the right one: notifyctl browser install \(browser.name)")
        }
        guard hasRules, broken.isEmpty else { return broken }
        guard !browsers.isEmpty else {
            return [
                .warning(
                    "browser", "there are rules in browser.toml, and no browser knows notifyd-browser",
                    "Tell your browsers of it: notifyctl browser install")
            ]
        }
        return [.ok("browser", "\(browsers.map(\.name).joined(separator: ", ")) can start notifyd-browser")]
    }
}
