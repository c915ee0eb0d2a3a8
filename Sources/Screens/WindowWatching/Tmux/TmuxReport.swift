/// What tmux tells of its clients.
package struct TmuxReport: Equatable, Sendable {
    /// What ``owner`` is in.
    package static let option = "@notifyd-focus"
    /// The line that tmux writes for each client: what it is, whether it is a program in control mode, and its active
    /// pane.
    package static let format = "#{client_flags} #{client_control_mode} #{pane_id}"

    /// The channel of the program that holds screens for this tmux.
    package let owner: String
    /// The panes that are active in a client whose terminal has the focus, without their `%`.
    package let panes: [UInt32]

    /// - Parameter text: the value of ``option``, and a line for each client.
    /// - Returns: `nil` if tmux has not answered.
    package init?(_ text: String) {
        let lines = text.split(separator: "\n")
        guard let owner = lines.first else { return nil }
        self.owner = String(owner)
        panes = lines.dropFirst().compactMap(Self.pane)
    }

    private static func pane(_ line: Substring) -> UInt32? {
        let words = line.split(separator: " ")
        guard words.count == 3, words[1] == "0", words[2].hasPrefix("%") else { return nil }
        // A client whose terminal does not tell of its focus counts as focused.
        let flags = words[0].split(separator: ",")
        guard flags.contains("attached"), flags.contains("focused") else { return nil }
        return UInt32(words[2].dropFirst())
    }
}
