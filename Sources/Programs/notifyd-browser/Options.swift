/// The command line: that of a browser, or that of a person.
enum Options: Equatable {
    /// A browser wants a host.
    case host
    case help
    case version
    /// The mistakes of a file; `nil`: of the user's own.
    case check(String?)

    static let helpText = """
        Browsers start this program for the extension of notifyd: it holds the screens of the tabs that are looked at.
        The rules are in ~/.config/notifyd/browser.toml: notifyd-browser.toml(5). To tell your browsers of it: \
        notifyctl browser install

        USAGE: notifyd-browser --check-config [--config <file>]

        OPTIONS:
          --check-config          Check the rules, say what is wrong, and exit.
          --config <file>         The file to check instead of ~/.config/notifyd/browser.toml.
          --version               Show the version.
          -h, --help              Show help information.

        """

    /// - Parameter arguments: without the name of the program.
    init(_ arguments: some Sequence<String>) throws(UsageMistake) {
        var rest = ArraySlice(Array(arguments))
        // Who calls: Chromium names the extension's origin, and Firefox the manifest and the extension. More may
        // follow.
        if let caller = rest.first,
            caller.hasPrefix("chrome-extension://") || caller.hasPrefix("/") && caller.hasSuffix(".json")
        {
            self = .host
            return
        }
        var file: String?
        var checks = false
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch parts[0] {
            case "--version" where parts.count == 1:
                self = .version
                return
            case "--help" where parts.count == 1, "-h" where parts.count == 1:
                self = .help
                return
            case "--check-config" where parts.count == 1: checks = true
            case "--config":
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw UsageMistake("--config needs a value.")
                }
                file = value
            default: throw UsageMistake("“\(argument)” is not an option; --help lists them.")
            }
        }
        guard checks else {
            throw UsageMistake(file == nil ? UsageMistake.notByHand : "--config is for --check-config.")
        }
        self = .check(file)
    }
}

/// A command line that means nothing: a sentence.
struct UsageMistake: Error, Equatable {
    static let notByHand = "Browsers start this program, which speaks with their extension; see notifyd-browser --help."

    let description: String

    init(_ description: String) {
        self.description = description
    }
}
