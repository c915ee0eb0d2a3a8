/// The name of a program for people: its app, its unit or its command.
///
/// A program can choose any name, so the name does not identify it. Rules of the policy do not use it.
package enum ProgramName {
    /// In bytes of UTF-8.
    package static let longest = 64
    /// The command of the program that browsers start for their tabs. Its name says nothing: that of its browser does.
    package static let browserHost = "notifyd-browser"

    /// - Parameters:
    ///   - unit: the unit of the user's service manager that the process runs in.
    ///   - command: `comm` of the process; proc(5).
    /// - Returns: `nil` if neither gives a name.
    package static func make(unit: String?, command: String?) -> String? {
        unit.flatMap(named).flatMap(cleaned) ?? command.flatMap(cleaned)
    }

    // MARK: Units

    /// The name of the program in a unit. A scope may hold any program of a session, a terminal or a container; only
    /// scopes of apps have useful names.
    private static func named(_ unit: String) -> String? {
        guard let dot = unit.lastIndex(of: ".") else { return nil }
        let (stem, kind) = (unit[..<dot], unit[dot...])
        if stem.hasPrefix("app-") { return app(stem.dropFirst("app-".count), isScope: kind == ".scope") }
        if stem.hasPrefix("snap.") { return stem.split(separator: ".").dropFirst().first.map(String.init) }
        guard kind == ".service", !isForAnything(stem) else { return nil }
        return activated(stem) ?? unit
    }

    /// The app's id in `[LAUNCHER-]ID-RANDOM.scope`, `[LAUNCHER-]ID@RANDOM.service` or
    /// `[LAUNCHER-]ID[-RANDOM].service`, as systemd's “Desktop Environment Integration” has it. A `-` of the id is
    /// escaped.
    private static func app(_ stem: Substring, isScope: Bool) -> String? {
        let name = stem.prefix { $0 != "@" }
        var parts = name.split(separator: "-", omittingEmptySubsequences: false)
        if parts.count > 1, isScope || (name.endIndex == stem.endIndex && parts.last.map(isRandom) == true) {
            parts.removeLast()
        }
        return parts.last.flatMap(unescaped)
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

    /// Whether any program may run in the service: those of a bus without systemd, and the units of systemd-run(1).
    private static func isForAnything(_ stem: Substring) -> Bool {
        stem == "dbus" || stem == "dbus-broker" || stem.hasPrefix("run-")
    }

    // MARK: Text

    /// Decodes the escapes of systemd.unit(5); `nil` if the result is not UTF-8.
    package static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard rest.popFirst() == UInt8(ascii: "x"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The beginning of a text, without active characters; `nil` if nothing is left.
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

extension String {
    /// Whether two names are of one program. Capital and small letters of ASCII are the same: toolkits write `Firefox`
    /// or `firefox` for one program.
    package func isSameName(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return zip(utf8, other.utf8).allSatisfy { $0 == $1 || $0.lowercased == $1.lowercased }
    }
}
