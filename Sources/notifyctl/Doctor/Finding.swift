/// What one check of `notifyctl doctor` found.
struct Finding: Equatable {
    enum Level: String {
        case ok
        /// It works, but not as it should, or not for everybody.
        case warning
        /// It does not work.
        case problem
    }

    let check: String
    let level: Level
    /// How it is, in a few words.
    let state: String
    /// What to do, where there is something.
    let advice: String?

    static func ok(_ check: String, _ state: String) -> Finding {
        Finding(check: check, level: .ok, state: state, advice: nil)
    }

    static func warning(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, level: .warning, state: state, advice: advice)
    }

    static func problem(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, level: .problem, state: state, advice: advice)
    }
}

extension Finding {
    var json: JSON {
        var members: [(String, JSON)] = [
            ("check", .string(check)), ("level", .string(level.rawValue)), ("state", .string(state)),
        ]
        if let advice { members.append(("advice", .string(advice))) }
        return .object(members)
    }

    /// A line for the state, and one for the advice, if there is any.
    func lines(width: Int) -> [String] {
        let mark = level.rawValue + String(repeating: " ", count: "problem".count - level.rawValue.count)
        let name = check + String(repeating: " ", count: width - check.count)
        let colour =
            switch level {
            case .ok: Terminal.green(mark)
            case .warning: Terminal.bold(mark)
            case .problem: Terminal.red(mark)
            }
        let indentation = String(repeating: " ", count: "problem".count + width + 4)
        return ["\(colour)  \(name)  \(Terminal.plain(state))"]
            + (advice.map { [indentation + "→ " + Terminal.plain($0)] } ?? [])
    }
}
