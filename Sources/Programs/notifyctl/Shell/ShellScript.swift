import ArgumentParser

/// The scripts beside this file, which the program carries with it.
enum ShellScript: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    /// How long a command has to take, in seconds.
    static let seconds = 30

    private var source: [UInt8] {
        switch self {
        case .bash: PackageResources.notifyd_bash
        case .zsh: PackageResources.notifyd_zsh
        case .fish: PackageResources.notifyd_fish
        }
    }

    /// - Parameters:
    ///   - program: the path of notifyctl.
    ///   - topic: at which the shell reports.
    ///   - terminal: the path of its terminal.
    func text(program: String, topic: String, terminal: String) -> String {
        var text = String(decoding: source, as: UTF8.self)
        text.replace("@seconds@", with: String(Self.seconds))
        // In bash it stands within quotes.
        text.replace("@ignore@", with: self == .bash ? InteractiveCommands.usual : quoted(InteractiveCommands.usual))
        text.replace("@topic@", with: quoted(topic))
        text.replace("@terminal@", with: quoted(terminal))
        text.replace("@program@", with: quoted(program))
        return text
    }

    /// What somebody who has called “shell init” by hand is told: the lines for the configuration, which find the
    /// programs whatever the search path is by then.
    ///
    /// - Parameter program: the path of notifyctl.
    func advice(program: String) -> String {
        let folder = program.prefix(through: program.lastIndex(of: "/") ?? program.startIndex)
        let (file, line) =
            switch self {
            case .bash: ("~/.bashrc", #"eval "$(\#(word(program)) shell init bash)""#)
            case .zsh: ("~/.zshrc", #"eval "$(\#(word(program)) shell init zsh)""#)
            case .fish: ("~/.config/fish/config.fish", "\(word(program)) shell init fish | source")
            }
        return """
            # At the end of \(file):
            \(line)
            # With tmux, in ~/.tmux.conf:
            set -g focus-events on; run-shell -b "\(word(folder + "notifyd-focus")) --tmux"

            """
    }

    /// Quoted if it has to be.
    private func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "-")...UInt8(ascii: "9"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isPlain ? text : quoted(text)
    }

    /// A word of the shell that stands for itself.
    private func quoted(_ text: String) -> String {
        let escaped =
            switch self {
            case .bash, .zsh: text.replacing("'", with: #"'\''"#)
            case .fish: text.replacing(#"\"#, with: #"\\"#).replacing("'", with: #"\'"#)
            }
        return "'\(escaped)'"
    }
}
