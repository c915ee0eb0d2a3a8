/// Which signals the bus sends us.
///
/// [Match rules](https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-routing-match-rules)
package struct MatchRule: Hashable, Sendable {
    package let text: String

    /// Values are quoted. An apostrophe, which quoting cannot hold, is written outside the quotes.
    package init(
        sender: String? = nil, interface: String? = nil, member: String? = nil,
        argument0: String? = nil, argument0Path: String? = nil
    ) {
        var parts = ["type='signal'"]
        for (key, value) in [
            ("sender", sender), ("interface", interface), ("member", member), ("arg0", argument0),
            ("arg0path", argument0Path),
        ] {
            if let value { parts.append("\(key)=" + Self.quoted(value)) }
        }
        text = parts.joined(separator: ",")
    }

    private static func quoted(_ value: String) -> String {
        // By bytes: to Swift an apostrophe with a combining mark behind it is another character.
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
    }

    /// A name that got, lost or changed its owner.
    package static func ownerChanged(of name: String) -> MatchRule {
        MatchRule(sender: Bus.name, interface: Bus.interface, member: "NameOwnerChanged", argument0: name)
    }
}
