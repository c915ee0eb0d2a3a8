import Foundation
import NotifyTestSupport
import NotifyText
import Routing
import Testing

@testable import NotifyDaemon

/// The example that is installed with the documentation: people copy from it.
struct ExampleConfigurationTests {
    private let example: String

    init() throws {
        example = try Project.text("systemd/config.toml")
    }

    @Test func withEveryDefaultInForceNothingChanges() throws {
        let configuration = try read(
            lines { $0.hasPrefix("#") && !$0.hasPrefix("# ") && $0 != "#" ? $0.dropFirst() : nil })
        let builtIn = try ConfigurationReader.builtIn()
        #expect(configuration.routes.routes.map(\.name) == builtIn.routes.routes.map(\.name))
        for (route, original) in zip(configuration.routes.routes, builtIn.routes.routes) {
            #expect(route.window == original.window)
            #expect(route.wait == original.wait)
            #expect(route.coalescing == original.coalescing)
            #expect(route.banner == original.banner)
            #expect(route.retain == original.retain)
            #expect(templates(of: route)?.title?.source == templates(of: original)?.title?.source)
            #expect(templates(of: route)?.body?.source == templates(of: original)?.body?.source)
            #expect(route.lifetime == original.lifetime)
            #expect(route.appearance == original.appearance)
        }
        #expect(configuration.banners == builtIn.banners)
        #expect(configuration.screens == builtIn.screens)
        #expect(configuration.policy == builtIn.policy)
        #expect(configuration.recoveryWindow == builtIn.recoveryWindow)
        #expect(configuration.history == builtIn.history)
        #expect(configuration.logLevel == builtIn.logLevel)
    }

    @Test func theRulesShowEveryKeyAndFit() throws {
        let indented = lines { $0.hasPrefix("#     ") ? $0.dropFirst(6) : nil }
        let start = try #require(indented.firstRange(of: "[[policy]]")?.lowerBound)
        let policy = try read(String(indented[start...])).policy
        #expect(
            policy.rules.flatMap(\.criteria) == [
                .unit("feed.service"), .app("org.example.Game"), .user(0), .label("unconfined"),
            ])
        #expect(policy.rules.last?.verdicts == [.control: .allow, .publish: .deny])
    }

    @Test func theSchedulesShowEveryKey() throws {
        let indented = lines { $0.hasPrefix("#     ") ? $0.dropFirst(6) : nil }
        let start = try #require(indented.firstRange(of: "[[quiet]]")?.lowerBound)
        let end = try #require(indented.firstRange(of: "[[policy]]")?.lowerBound)
        let schedules = try read(String(indented[start..<end])).schedules
        #expect(
            schedules.map(\.description) == [
                "22:00-07:00 /, with a digest", "09:00-17:30 mon,tue,wed,thu,fri /run /chat",
            ])
    }

    @Test func theRouteOfOnesOwnShowsEverythingThatABannerCanHave() throws {
        let indented = lines { $0.hasPrefix("#     ") ? $0.dropFirst(6) : nil }
        let start = try #require(indented.firstRange(of: "[[route]]")?.lowerBound)
        let configuration = try read(String(indented[start...]))
        let digest = configuration.routes.route(for: try Topic("/notifyd/digest"))
        #expect(digest.appearance.actions.map(\.command) == [["foot", "-e", "notifyctl", "inbox"]])
        let route = configuration.routes.route(for: try Topic("/build/notifyd"))
        #expect(route.name == "/build/{project}")
        #expect(route.appearance.urgency == .low)
        #expect(!route.appearance.icon.isEmpty)
        #expect(route.appearance.category != nil)
        #expect(route.appearance.sound != nil)
        #expect(route.appearance.desktopEntry != nil)
        #expect(route.appearance.timeout == .seconds(5))
        #expect(route.appearance.actions.map(\.command.isEmpty) == [false, true])
        #expect(route.appearance.actions.map(\.application) == [nil, "org.example.Builder"])
    }

    private func templates(of route: Route) -> BannerTemplates? { route.wording as? BannerTemplates }

    private func lines(_ pick: (Substring) -> Substring?) -> String {
        example.split(separator: "\n").compactMap(pick).joined(separator: "\n")
    }

    private func read(_ text: String) throws -> Configuration {
        var reader = ConfigurationReader()
        reader.add(file: "config.toml", text: text)
        return try reader.finish()
    }
}
