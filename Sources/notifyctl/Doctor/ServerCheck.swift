/// Whether there is somebody who shows banners: desktop notifications specification 1.2.
struct ServerCheck {
    enum Answer: Equatable {
        case information(name: String, version: String)
        case error(String)
        case none
    }

    var isThere = false
    var answer = Answer.none
    /// `nil` where it does not say.
    var capabilities: [String]?
    /// Whether notifyd leaves it alone for a while, after it has failed several times.
    var rests = false
    /// Whether the bus knows how to start one.
    var isActivatable = false
    /// How often the bus could not start one.
    var startFailures = 0

    private static let check = "notification server"

    var finding: Finding {
        guard isThere else {
            if startFailures > 0 {
                return .problem(
                    Self.check, "none, and the bus could not start one: banners wait",
                    "The log says why: journalctl --user -t notifyd. Start the one of your desktop, or install dunst "
                        + "or mako.")
            }
            if isActivatable {
                return .ok(
                    Self.check, "not running; unless start_server is false, the first banner has the bus start it")
            }
            return .warning(
                Self.check, "none: banners wait for one until their time to live is over",
                "Start the one of your desktop, or one such as dunst or mako.")
        }
        switch answer {
        case .none:
            return .problem(
                Self.check, "it hangs: no answer within \(Inquiry.patience.shortFigure)",
                "Restart it. notifyd goes on meanwhile, and shows what waits when it is back.")
        case .error(let words):
            return .problem(Self.check, "it answers with an error: \(words)", "Restart it, or use another one.")
        case .information(let name, let version):
            let title = "\(name) \(version)"
            if rests {
                return .warning(
                    Self.check, "\(title), which has failed several times: notifyd lets it rest for a while",
                    "Its own log should say why; notifyd tries it again by itself.")
            }
            guard let capabilities else { return .ok(Self.check, "\(title), which does not say what it can do") }
            let lacks = [("body", "texts below the title"), ("actions", "buttons")]
                .filter { !capabilities.contains($0.0) }.map(\.1)
            return .ok(
                Self.check, lacks.isEmpty ? title : "\(title), which cannot show \(lacks.joined(separator: " or "))")
        }
    }
}
