import Routing
import Systemd
import Testing

@testable import NotifyDaemon

struct PolicyTests {
    private let feed = Caller(
        Credentials(user: 1000, process: 7), ProcessIdentity(startTime: 1, userUnit: "feed.service"), owner: 1000)
    private let shell = Caller(
        Credentials(user: 1000, process: 8), ProcessIdentity(startTime: 1, userUnit: nil), owner: 1000)

    private func policy(_ text: String) throws -> Policy {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: text)
        return try reader.finish().policy
    }

    private func request(_ permission: Permission, at topic: String) throws -> AccessRequest {
        AccessRequest(permission: permission, scope: .topic(try Topic(topic)))
    }

    private func request(_ permission: Permission, atOrBelow topic: String) throws -> AccessRequest {
        AccessRequest(permission: permission, scope: .prefix(try TopicPrefix(topic)))
    }

    @Test func withoutRulesEverybodyMayDoEverything() throws {
        let policy = try policy("")
        #expect(policy.requiredIdentity == .none)
        for permission in Permission.allCases {
            #expect(try policy.denyingRule(for: request(permission, atOrBelow: "/"), to: .unknown) == nil)
        }
    }

    @Test func theFirstRuleThatFitsDecides() throws {
        let policy = try policy(
            """
            [[policy]]
            topic = "/feed"
            allow = ["publish"]
            unit = "feed.service"
            [[policy]]
            topic = "/feed"
            deny = ["publish"]
            """)
        #expect(try policy.denyingRule(for: request(.publish, at: "/feed/1"), to: feed) == nil)
        #expect(try policy.denyingRule(for: request(.publish, at: "/feed/1"), to: shell)?.place == "test.toml:5")
        #expect(try policy.denyingRule(for: request(.publish, at: "/feeds"), to: shell) == nil)
        #expect(try policy.denyingRule(for: request(.claim, at: "/feed/1"), to: shell) == nil)
    }

    @Test func oneRuleMayAllowOneThingAndDenyAnother() throws {
        let policy = try policy(
            "[[policy]]\nallow = [\"publish\"]\ndeny = [\"claim\"]\n[[policy]]\ndeny = [\"publish\"]\n")
        #expect(try policy.denyingRule(for: request(.publish, at: "/a"), to: feed) == nil)
        #expect(try policy.denyingRule(for: request(.claim, at: "/a"), to: feed) != nil)
    }

    @Test func whoIsNotKnownIsDeniedWhatSomeAreAndNotAllowedWhatOnlySomeAre() throws {
        let denying = try policy("[[policy]]\ndeny = [\"claim\"]\nunit = \"feed.service\"\n")
        #expect(try denying.denyingRule(for: request(.claim, at: "/a"), to: .unknown) != nil)
        #expect(try denying.denyingRule(for: request(.claim, at: "/a"), to: feed) != nil)
        #expect(try denying.denyingRule(for: request(.claim, at: "/a"), to: shell) == nil)
        let allowing = try policy(
            "[[policy]]\nallow = [\"claim\"]\nunit = \"feed.service\"\n[[policy]]\ndeny = [\"claim\"]\n")
        #expect(try allowing.denyingRule(for: request(.claim, at: "/a"), to: .unknown) != nil)
        #expect(try allowing.denyingRule(for: request(.claim, at: "/a"), to: feed) == nil)
    }

    @Test func aCallerHasEveryPropertyThatARuleNames() throws {
        let policy = try policy("[[policy]]\ndeny = [\"claim\"]\nunit = \"feed.service\"\nuser = 1000\n")
        #expect(try policy.denyingRule(for: request(.claim, at: "/a"), to: feed) != nil)
        // Of the unit nothing is known, but the user is another.
        let other = Caller(Credentials(user: 0, process: 7), nil, owner: 1000)
        #expect(try policy.denyingRule(for: request(.claim, at: "/a"), to: other) == nil)
    }

    @Test func whatReachesFurtherThanARuleIsDeniedWithItAndNotAllowedByIt() throws {
        let denying = try policy("[[policy]]\ntopic = \"/run/r1\"\ndeny = [\"claim\"]\n")
        for topic in ["/run/r1/mate", "/run/r1", "/run", "/"] {
            #expect(try denying.denyingRule(for: request(.claim, atOrBelow: topic), to: feed) != nil, "\(topic)")
        }
        #expect(try denying.denyingRule(for: request(.claim, atOrBelow: "/run/r2"), to: feed) == nil)
        // One event at a topic above is not at or below it.
        #expect(try denying.denyingRule(for: request(.claim, at: "/run"), to: feed) == nil)
        let allowing = try policy(
            "[[policy]]\ntopic = \"/run/r1\"\nallow = [\"claim\"]\n[[policy]]\ndeny = [\"claim\"]\n")
        #expect(try allowing.denyingRule(for: request(.claim, atOrBelow: "/run/r1"), to: feed) == nil)
        #expect(try allowing.denyingRule(for: request(.claim, atOrBelow: "/run"), to: feed) != nil)
    }

    @Test func aRefusalNamesTheRuleTheCallerAndWhatWouldBeRight() throws {
        let policy = try policy(
            "\n[[policy]]\ntopic = \"/post\"\ndeny = [\"claim\", \"publish\"]\nunit = \"feed.service\"\n")
        let narrow = try request(.claim, at: "/post/27")
        guard
            case .accessDenied(let text) = try #require(policy.denyingRule(for: narrow, to: feed)).refusal(
                of: narrow, to: feed)
        else { return #expect(Bool(false), "it is AccessDenied") }
        #expect(
            text == "you may not claim at /post/27, says the rule test.toml:2: deny publish, claim at or below /post "
                + "to unit feed.service. You are user 1000, unit feed.service, app none, label none; "
                + "a rule that allows it to you has to stand before that one")
        let wide = try request(.claim, atOrBelow: "/")
        guard
            case .accessDenied(let text) = try #require(policy.denyingRule(for: wide, to: .unknown)).refusal(
                of: wide, to: .unknown)
        else { return #expect(Bool(false), "it is AccessDenied") }
        #expect(text.hasSuffix("unit unknown, app unknown, label unknown; name a topic that leaves out /post"))
        guard
            case .accessDenied(let text) = try #require(policy.denyingRule(for: wide, to: .unknown)).refusal(
                of: wide, to: nil)
        else { return #expect(Bool(false), "it is AccessDenied") }
        #expect(text.hasSuffix("to unit feed.service; name a topic that leaves out /post"))
    }

    @Test func onlyRulesAboutCallersMakeThemKnown() throws {
        #expect(try policy("[[policy]]\ndeny = [\"control\"]\n").requiredIdentity == .none)
        #expect(try policy("[[policy]]\ndeny = [\"control\"]\nuser = 0\n").requiredIdentity == .credentials)
        #expect(
            try policy("[[policy]]\ndeny = [\"control\"]\nlabel = \"snap.feed\"\n").requiredIdentity == .credentials)
        #expect(
            try policy("[[policy]]\ndeny = [\"control\"]\nuser = 0\n[[policy]]\ndeny = [\"control\"]\napp = \"a.b\"\n")
                .requiredIdentity
                == .unit)
    }

    @Test func aUserIsGivenByNumberOrByName() throws {
        let rules = try policy(
            "[[policy]]\ndeny = [\"control\"]\nuser = \"root\"\n[[policy]]\ndeny = [\"control\"]\nuser = 0\n"
        )
        .rules
        #expect(rules.map(\.criteria) == [[.user(0)], [.user(0)]])
    }

    @Test func rulesOfEarlierFilesComeFirst() throws {
        var reader = ConfigurationReader()
        reader.add(file: "administrator", text: "[[policy]]\ndeny = [\"control\"]\n")
        reader.add(file: "user", text: "[[policy]]\nallow = [\"control\"]\n")
        let policy = try reader.finish().policy
        #expect(try policy.denyingRule(for: request(.control, at: "/a"), to: feed)?.place == "administrator:1")
    }
}
