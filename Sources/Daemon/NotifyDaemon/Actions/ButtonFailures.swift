import Glibc

/// The buttons that do not work: each is remembered from a press that failed to the next that does not.
struct ButtonFailures {
    /// The newest of them.
    private static let limit = 16

    private var failures: [(button: String, state: String)] = []

    /// - Parameter button: such as `“Join” of /run/{session}/invite`.
    mutating func failed(_ button: String, _ why: String) {
        worked(button)
        failures.append((button, "\(button) \(why) (\(Self.now))"))
        failures.removeFirst(max(0, failures.count - Self.limit))
    }

    mutating func worked(_ button: String) { failures.removeAll { $0.button == button } }

    mutating func forget() { failures = [] }

    /// What `Diagnose` tells, the newest last.
    var problems: [(what: String, state: String, advice: String)] {
        failures.map {
            (
                "buttons", $0.state,
                "The log says more: journalctl --user -u notifyd -g button. This is told until the button works or the "
                    + "configuration is reloaded."
            )
        }
    }

    /// The local time, to the minute.
    private static var now: String {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%F %H:%M", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
