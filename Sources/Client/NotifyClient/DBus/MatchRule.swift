/// The signals that the bus delivers to this connection.
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
        // Split by bytes: in a String an apostrophe and a combining mark are one character.
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
    }

    /// The signal that a name has a new owner, or none.
    package static func ownerChanged(of name: String) -> MatchRule {
        MatchRule(sender: Bus.name, interface: Bus.interface, member: "NameOwnerChanged", argument0: name)
    }
}
