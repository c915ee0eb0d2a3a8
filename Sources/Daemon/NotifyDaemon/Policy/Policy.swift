import NotifyText
import Routing

/// What a rule allows or denies.
enum Permission: String, CaseIterable, Sendable {
    /// `Send`, `Publish`, and `Withdraw` of what somebody else has published.
    case publish
    /// `Claim`, `ClaimProvisionally`, `Complete`, `ClaimTopic`, `OpenScreen`, `UpdateScreen`, `Snooze`. Giving up a
    /// claim (`Release`, `Pass`, `CloseScreen`) needs no permission.
    case claim
    /// `Mute`, `Pause`, and setting `Paused`. `Forget` needs `claim` and `control`: it takes events from everybody, and
    /// a permission of its own would not be in policies that deny all there was.
    case control
}

/// A request for access: the permission it needs, and its scope.
struct AccessRequest {
    enum Scope {
        case topic(Topic)
        /// Everything at or below.
        case prefix(TopicPrefix)
    }

    let permission: Permission
    let scope: Scope
}

/// The access policy: the rules of the configuration, in order. The first rule that matches decides; without a match,
/// access is allowed. Reading needs no permission, because every event is broadcast anyway.
///
/// With ordered rules there is no need to decide which of two is more specific, and a refusal names one rule. The
/// administrator's files are read before the user's, so their rules take precedence.
struct Policy: Equatable, Sendable {
    var rules: [PolicyRule] = []

    /// What the rules need to know of callers.
    enum IdentityLevel: Comparable, Sendable {
        case none, credentials, unit
    }

    var requiredIdentity: IdentityLevel { rules.flatMap(\.criteria).map(\.requiredIdentity).max() ?? .none }

    /// - Returns: the rule that denies the request.
    func denyingRule(for request: AccessRequest, to caller: Caller) -> PolicyRule? {
        for rule in rules {
            switch rule.verdict(on: request, by: caller) {
            case .allow: return nil
            case .deny: return rule
            case nil: continue
            }
        }
        return nil
    }
}

/// One rule: what it allows and denies, where, and to whom.
///
/// In doubt it denies. A rule that denies also matches an unknown caller, and a request whose scope overlaps the
/// rule's topic. A rule that allows matches only if caller and scope are certain.
struct PolicyRule: Equatable, Sendable {
    enum Verdict: Sendable {
        case allow, deny
    }

    /// A property of the caller; all criteria have to match.
    enum Criterion: Equatable, Sendable {
        case user(UInt32)
        case unit(ByteString)
        case app(ByteString)
        case label(ByteString)
    }

    /// At or below.
    var topic = TopicPrefix.all
    var verdicts: [Permission: Verdict]
    var criteria: [Criterion] = []
    /// Its file and line.
    var place: String

    fileprivate func verdict(on request: AccessRequest, by caller: Caller) -> Verdict? {
        switch verdicts[request.permission] {
        case .deny where touches(request.scope) && criteria.allSatisfy({ $0.fits(caller) ?? true }): .deny
        case .allow where covers(request.scope) && criteria.allSatisfy({ $0.fits(caller) ?? false }): .allow
        case .allow, .deny, nil: nil
        }
    }

    /// Whether the scope is at or below the topic.
    func covers(_ scope: AccessRequest.Scope) -> Bool {
        switch scope {
        case .topic(let other): topic.covers(other)
        case .prefix(let other): topic.covers(other)
        }
    }

    private func touches(_ scope: AccessRequest.Scope) -> Bool {
        if case .prefix(let other) = scope, other.covers(topic) { return true }
        return covers(scope)
    }
}

extension PolicyRule.Criterion {
    /// `nil` if it is unknown.
    fileprivate func fits(_ caller: Caller) -> Bool? {
        switch self {
        case .user(let id): Self.compare(id, caller.user)
        case .unit(let name): Self.compare(name, caller.unit)
        case .app(let id): Self.compare(id, caller.app)
        case .label(let text): Self.compare(text, caller.label)
        }
    }

    private static func compare<Value>(_ wanted: Value, _ attribute: Caller.Attribute<Value>) -> Bool? {
        switch attribute {
        case .unknown: nil
        case .absent: false
        case .found(let value): value == wanted
        }
    }

    private static func compare(_ wanted: ByteString, _ attribute: Caller.Attribute<String>) -> Bool? {
        switch attribute {
        case .unknown: nil
        case .absent: false
        case .found(let text): text.bytes == wanted
        }
    }

    fileprivate var requiredIdentity: Policy.IdentityLevel {
        switch self {
        case .user, .label: .credentials
        case .unit, .app: .unit
        }
    }
}

// Rules and refusals as text.

extension PolicyRule: CustomStringConvertible {
    /// The place of the rule and what it says, such as `config.toml:3: deny claim at or below /post to unit
    /// feed.service`.
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
            : request.permission == .control
                ? "mute a topic that leaves out \(topic) instead" : "name a topic that leaves out \(topic)"
        let act = request.permission == .control ? "pause or mute" : request.permission.rawValue
        let identity = caller.map { ". You are \($0)" } ?? ""
        return .accessDenied("you may not \(act) \(request.scope), says the rule \(self)\(identity); \(remedy)")
    }
}
