import Systemd

/// Who makes a call, as far as it is known.
///
/// What each part is worth against a program that means harm:
///
/// - The user and the security label come from the kernel, as they were when the connection was made, and nobody can change
///   them. On a session bus the user is nearly always the same, and a label exists only where AppArmor, SELinux or Smack does.
/// - The unit and the app come from the control group of the process that made the connection. A program that may write to
///   the control groups of its user, or may ask that user's service manager to start something, can be in any unit it likes:
///   so they keep programs that mean well apart, and hold those that are confined (a Flatpak app, whose connection is made
///   for it by a proxy), but are no wall against an unconfined program of the same user. Nothing is.
/// - A program that hands its connection to another and ends passes for whatever gets its process number next.
struct Caller: Equatable, Sendable {
    /// What is known of one property of a caller. A rule must not take what nobody could find out for what is not there.
    enum Finding<Value: Equatable & Sendable>: Equatable, Sendable {
        case unknown
        case absent
        case found(Value)
    }

    var user: Finding<UInt32> = .unknown
    /// A unit of the service manager of the daemon's own user, such as `feed.service`.
    var unit: Finding<String> = .unknown
    /// A Flatpak app, such as `org.example.Feed`.
    var app: Finding<String> = .unknown
    /// What the kernel's security module calls the process, such as `snap.feed.feed`.
    var label: Finding<String> = .unknown

    /// Somebody of whom nothing could be found out.
    static let unknown = Caller()

    init() {}

    /// - Parameters:
    ///   - credentials: what the bus says.
    ///   - sighting: what was seen of the process; `nil` where nobody looked, or it could not be made sure of.
    ///   - owner: the user whose service manager has the units that rules name.
    init(_ credentials: Credentials, _ sighting: ProcessSighting?, owner: UInt32) {
        user = credentials.user.map(Finding.found) ?? .unknown
        label = credentials.label.map(Finding.found) ?? .absent
        if let user = credentials.user, user != owner {
            // Another user's manager may have a unit of the same name.
            unit = .absent
            app = .absent
        } else if let sighting, credentials.user != nil {
            unit = sighting.userUnit.map(Finding.found) ?? .absent
            app = sighting.userUnit.flatMap(Self.flatpakApp).map(Finding.found) ?? .absent
        }
    }

    /// The app that Flatpak put into a scope of its own. The scope's name is `app-flatpak-`, the app's id escaped as
    /// systemd.unit(5) has it, so that no `-` is in it, then `-`, a number and `.scope`.
    static func flatpakApp(inUnit name: String) -> String? {
        let prefix = "app-flatpak-"
        let suffix = ".scope"
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let parts = name.dropFirst(prefix.count).dropLast(suffix.count).split(
            separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let id = parts.first, !id.isEmpty else { return nil }
        return unescaped(id)
    }

    /// Without the escapes of systemd.unit(5); `nil` where that is no text.
    static func unescaped(_ text: Substring) -> String? {
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
}

extension Caller: CustomStringConvertible {
    /// For errors and the log.
    var description: String {
        [
            "user \(Self.text(user))", "unit \(Self.text(unit))", "app \(Self.text(app))", "label \(Self.text(label))",
        ].joined(separator: ", ")
    }

    private static func text<Value>(_ finding: Finding<Value>) -> String {
        switch finding {
        case .unknown: "unknown"
        case .absent: "none"
        case .found(let value): "\(value)"
        }
    }
}
