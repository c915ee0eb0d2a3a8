import NotifyText
import Routing

/// What a rule lets somebody do, or not.
enum Permission: String, CaseIterable, Sendable {
    /// `Send`, `Publish`.
    case publish
    /// `Claim`, `ClaimProvisionally`, `Complete`, `ClaimTopic`, `OpenScreen`, `UpdateScreen`. To give back what one has
    /// (`Release`, `Pass`, `CloseScreen`) needs no permission.
    case claim
    /// `Mute`, and to set `Paused`.
    case control
}

/// What somebody is about to do: the permission it takes, and what it reaches.
struct Deed {
    enum Reach {
        case topic(Topic)
        /// Everything at or below.
        case prefix(TopicPrefix)
    }

    let permission: Permission
    let reach: Reach
}

/// Who may do what: the rules of the configuration, in their order. The first one that fits decides, and where none does,
/// everything is allowed. Reading needs no permission: whoever is on the bus hears every event anyway.
///
/// Rules with an order need no theory of which of two is more specific, and a refusal has one rule to name. As the files of
/// the administrator are read before the user's, what those deny stays denied.
struct Policy: Equatable, Sendable {
    var rules: [PolicyRule] = []

    /// How much must be known of callers for these rules to decide.
    enum Need: Comparable, Sendable {
        case nothing, credentials, unit
    }

    var need: Need {
        rules.flatMap(\.criteria).map(\.need).max() ?? .nothing
    }

    /// - Returns: the rule that denies it.
    func denial(of deed: Deed, to caller: Caller) -> PolicyRule? {
        for rule in rules {
            switch rule.verdict(on: deed, by: caller) {
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
/// It errs towards no. A rule that denies also fits where it might: when the caller could be the one it names, and when a
/// deed reaches further than the rule but touches what the rule is about. A rule that allows fits only for certain.
struct PolicyRule: Equatable, Sendable {
    enum Verdict: Sendable {
        case allow, deny
    }

    /// A property that a caller has; with several, the caller has all of them.
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
    /// The file and the line in which it stands.
    var place: String

    fileprivate func verdict(on deed: Deed, by caller: Caller) -> Verdict? {
        switch verdicts[deed.permission] {
        case .deny where touches(deed.reach) && criteria.allSatisfy({ $0.fits(caller) ?? true }): .deny
        case .allow where covers(deed.reach) && criteria.allSatisfy({ $0.fits(caller) ?? false }): .allow
        case .allow, .deny, nil: nil
        }
    }

    /// Whether all that a deed reaches is at or below the topic.
    func covers(_ reach: Deed.Reach) -> Bool {
        switch reach {
        case .topic(let other): topic.covers(other)
        case .prefix(let other): topic.covers(other)
        }
    }

    private func touches(_ reach: Deed.Reach) -> Bool {
        if case .prefix(let other) = reach, other.covers(topic) { return true }
        return covers(reach)
    }
}

extension PolicyRule.Criterion {
    /// `nil` where it is not known.
    fileprivate func fits(_ caller: Caller) -> Bool? {
        switch self {
        case .user(let id): Self.compare(id, caller.user)
        case .unit(let name): Self.compare(name, caller.unit)
        case .app(let id): Self.compare(id, caller.app)
        case .label(let text): Self.compare(text, caller.label)
        }
    }

    private static func compare<Value>(_ wanted: Value, _ finding: Caller.Finding<Value>) -> Bool? {
        switch finding {
        case .unknown: nil
        case .absent: false
        case .found(let value): value == wanted
        }
    }

    private static func compare(_ wanted: ByteString, _ finding: Caller.Finding<String>) -> Bool? {
        switch finding {
        case .unknown: nil
        case .absent: false
        case .found(let text): text.bytes == wanted
        }
    }

    fileprivate var need: Policy.Need {
        switch self {
        case .user, .label: .credentials
        case .unit, .app: .unit
        }
    }
}
