import NotifyText

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
