import NotifyText
import Routing

/// What people call a program: its app, its unit or its command.
///
/// A program can call itself anything, so the name identifies nothing. No rule of a policy uses it.
enum ProgramName {
    /// In bytes of UTF-8.
    static let longest = 64

    /// - Parameters:
    ///   - unit: the unit of the user's service manager that the process runs in.
    ///   - command: what the kernel calls the process, proc(5), `comm`.
    /// - Returns: `nil` where neither says anything.
    static func make(unit: String?, command: String?) -> String? {
        unit.flatMap(named).flatMap(cleaned) ?? command.flatMap(cleaned)
    }

    // MARK: Units

    /// What the name of a unit says of the program in it. Scopes belong to whatever was started in a session, a terminal or
    /// a container: only those of apps have names that mean something.
    private static func named(_ unit: String) -> String? {
        guard let dot = unit.lastIndex(of: ".") else { return nil }
        let (stem, kind) = (unit[..<dot], unit[dot...])
        if stem.hasPrefix("app-") { return app(stem.dropFirst("app-".count), isScope: kind == ".scope") }
        if stem.hasPrefix("snap.") { return stem.split(separator: ".").dropFirst().first.map(String.init) }
        guard kind == ".service", !isForAnything(stem) else { return nil }
        return activated(stem) ?? unit
    }

    /// The app's id in `[LAUNCHER-]ID-RANDOM.scope`, `[LAUNCHER-]ID@RANDOM.service` or `[LAUNCHER-]ID[-RANDOM].service`, as
    /// systemd's “Desktop Environment Integration” has it. A `-` of the id is escaped.
    private static func app(_ stem: Substring, isScope: Bool) -> String? {
        let name = stem.prefix { $0 != "@" }
        var parts = name.split(separator: "-", omittingEmptySubsequences: false)
        if parts.count > 1, isScope || (name.endIndex == stem.endIndex && parts.last.map(isRandom) == true) {
            parts.removeLast()
        }
        return parts.last.flatMap(Caller.unescaped)
    }

    private static func isRandom(_ part: Substring) -> Bool {
        part.allSatisfy(\.isHexDigit) && part.contains(where: \.isNumber)
    }

    /// The service that dbus-broker started in `dbus-:1.2-NAME@NUMBER.service`.
    private static func activated(_ stem: Substring) -> String? {
        guard stem.hasPrefix("dbus-:") else { return nil }
        let parts = stem.prefix { $0 != "@" }.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 && !parts[2].isEmpty ? String(parts[2]) : nil
    }

    /// Whether any program may run in the service: what a bus without systemd starts, and the units of systemd-run(1).
    private static func isForAnything(_ stem: Substring) -> Bool {
        stem == "dbus" || stem == "dbus-broker" || stem.hasPrefix("run-")
    }

    // MARK: Text

    /// The beginning of a text, without what a terminal or a notification server acts on; `nil` where nothing is left.
    private static func cleaned(_ text: String) -> String? {
        var name = String.UnicodeScalarView()
        var size = 0
        for scalar in text.unicodeScalars where !scalar.isActive && !scalar.isForInternalUse {
            size += UTF8.width(scalar)
            guard size <= longest else { break }
            name.append(scalar)
        }
        return name.contains { !$0.properties.isWhitespace } ? String(name) : nil
    }
}
