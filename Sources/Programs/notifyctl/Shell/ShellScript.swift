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
    func text(program: String, topic: String) -> String {
        var text = String(decoding: source, as: UTF8.self)
        text.replace("@seconds@", with: String(Self.seconds))
        let ignored = InteractiveCommands.usual.joined(separator: " ")
        // In bash it stands within quotes.
        text.replace("@ignore@", with: self == .bash ? ignored : quoted(ignored))
        text.replace("@topic@", with: quoted(topic))
        text.replace("@program@", with: quoted(program))
        return text
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
