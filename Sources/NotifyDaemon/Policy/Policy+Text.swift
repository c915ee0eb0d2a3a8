import Routing

// What rules and refusals look like to people.

extension PolicyRule: CustomStringConvertible {
    /// The place of the rule and what it says, such as `config.toml:3: deny claim at or below /post to unit feed.service`.
    var description: String {
        "\(place): \(words(.allow) + words(.deny)) at or below \(topic)"
            + (criteria.isEmpty ? "" : " to " + criteria.map(\.description).joined(separator: ", "))
    }

    private func words(_ verdict: Verdict) -> String {
        let names = Permission.allCases.filter { verdicts[$0] == verdict }.map(\.rawValue)
        guard !names.isEmpty else { return "" }
        let isSecond = verdict == .deny && verdicts.values.contains(.allow)
        return "\(isSecond ? ", " : "")\(verdict) \(names.joined(separator: ", "))"
    }
}

extension PolicyRule.Criterion: CustomStringConvertible {
    var description: String {
        switch self {
        case .user(let id): "user \(id)"
        case .unit(let name): "unit \(name)"
        case .app(let id): "app \(id)"
        case .label(let text): "label \(text)"
        }
    }
}

extension Deed: CustomStringConvertible {
    var description: String {
        "\(permission.rawValue) \(reach)"
    }
}

extension Deed.Reach: CustomStringConvertible {
    var description: String {
        switch self {
        case .topic(let topic): "at \(topic)"
        case .prefix(let prefix): "at or below \(prefix)"
        }
    }
}

extension PolicyRule {
    /// Why a deed is denied, and what would be right.
    ///
    /// - Parameter caller: `nil` where no rule asks who somebody is.
    func refusal(of deed: Deed, to caller: Caller?) -> Refusal {
        let remedy =
            covers(deed.reach)
            ? "a rule that allows it to you has to stand before that one"
            : "name a topic that leaves out \(topic)"
        let act = deed.permission == .control ? "pause or mute" : deed.permission.rawValue
        let identity = caller.map { ". You are \($0)" } ?? ""
        return .accessDenied("you may not \(act) \(deed.reach), says the rule \(self)\(identity); \(remedy)")
    }
}
