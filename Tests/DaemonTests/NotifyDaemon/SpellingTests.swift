import NotifyText
import Routing
import Systemd
import Testing

@testable import NotifyDaemon

/// What a configuration says holds for the bytes it is written in, and for no other spelling of them.
struct SpellingTests {
    private let one = "caf\u{E9}"
    private let other = "cafe\u{301}"

    private func configuration(_ text: String) throws -> Configuration {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: text)
        return try reader.finish()
    }

    @Test func aRuleForAUnitIsNotForItsOtherSpelling() throws {
        let policy = try configuration("[[policy]]\ndeny = [\"claim\"]\nunit = \"\(one).service\"\n").policy
        let request = AccessRequest(permission: .claim, scope: .prefix(.all))
        func caller(_ unit: String) -> Caller {
            Caller(Credentials(user: 1, process: 7), ProcessIdentity(startTime: 1, userUnit: unit), owner: 1)
        }
        #expect(policy.denyingRule(for: request, to: caller("\(one).service")) != nil)
        #expect(policy.denyingRule(for: request, to: caller("\(other).service")) == nil)
    }

    @Test func routesInTwoSpellingsKeepTheirTexts() throws {
        let routes = try configuration(
            """
            [[route]]
            topic = "/\(one)"
            title = "one"
            [[route]]
            topic = "/\(other)"
            title = "other"
            """
        ).routes
        for (topic, text) in [(one, "one"), (other, "other")] {
            let route = routes.route(named: "/\(topic)", for: try Topic("/none"))
            #expect((route.wording as? BannerTemplates)?.title?.render([:]) == text)
        }
    }

    @Test func aTemplateNamesFieldsByTheirBytes() throws {
        // A name in a template is made of letters, and a combining mark is none.
        let (one, other) = ("K", "\u{212A}")
        let template = try TextTemplate("{{\(one)}}{{#\(other)}}{{\(other)}}{{/\(other)}}", names: [one.bytes])
        #expect(template.render([one.bytes: "a", other.bytes: "b"]) == "ab")
        #expect(template.render([one.bytes: "a"]) == "a")
        #expect(throws: TextTemplate.Mistake.self) { try TextTemplate("{{\(other)}}", names: [one.bytes]) }
    }

    @Test func twoButtonsMayHaveKeysThatDifferInTheirBytes() throws {
        let routes = try configuration(
            """
            [[route]]
            topic = "/a"
            actions = [ { key = "\(one)", label = "1" }, { key = "\(other)", label = "2" } ]
            """
        ).routes
        #expect(routes.route(for: try Topic("/a")).appearance.actions.count == 2)
    }
}
