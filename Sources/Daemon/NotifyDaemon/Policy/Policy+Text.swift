import Routing

// Rules and refusals as text.

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

extension AccessRequest: CustomStringConvertible {
    var description: String {
        "\(permission.rawValue) \(scope)"
    }
}

extension AccessRequest.Scope: CustomStringConvertible {
    var description: String {
        switch self {
        case .topic(let topic): "at \(topic)"
        case .prefix(let prefix): "at or below \(prefix)"
        }
    }
}

extension PolicyRule {
    /// Why a request is denied, and how to change that.
    ///
    /// - Parameter caller: `nil` if no rule depends on the caller.
    func refusal(of request: AccessRequest, to caller: Caller?) -> Refusal {
        let remedy =
            covers(request.scope)
            ? "a rule that allows it to you has to stand before that one"
            : "name a topic that leaves out \(topic)"
        let act = request.permission == .control ? "pause or mute" : request.permission.rawValue
        let identity = caller.map { ". You are \($0)" } ?? ""
        return .accessDenied("you may not \(act) \(request.scope), says the rule \(self)\(identity); \(remedy)")
    }
}
