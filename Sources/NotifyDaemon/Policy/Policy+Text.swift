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
        switch reach {
        case .topic(let topic): "\(permission.rawValue) at \(topic)"
        case .prefix(let prefix): "\(permission.rawValue) at or below \(prefix)"
        }
    }
}

extension PolicyRule {
    /// Why a deed is denied, and what would be right.
    func refusal(of deed: Deed, to caller: Caller) -> Refusal {
        let remedy =
            covers(deed.reach)
            ? "a rule that allows it to you has to stand before that one"
            : "name a topic that leaves out \(topic)"
        return .accessDenied("you may not \(deed), says the rule \(self). You are \(caller); \(remedy)")
    }
}
