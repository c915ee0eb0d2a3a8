import NotifyBridge
import Testing

@testable import notifyd_unifiedpush

/// Which distributor an endpoint gets.
struct DistributorChoiceTests {
    private func choice(
        _ available: [String], configured: String? = nil, known: Set<String> = []
    ) -> DistributorChoice {
        DistributorChoice(configured: configured, available: available, known: known)
    }

    private func waits(_ answer: DistributorChoice.Answer, _ part: String, needsUser: Bool = false) -> Bool {
        guard case .wait(let problem) = answer else { return false }
        return problem.text.contains(part) && problem.needsUser == needsUser
    }

    @Test func aNewEndpointTakesTheOnlyOne() throws {
        #expect(choice(["a"]).answer(for: "post", of: "") == .register("a"))
        #expect(waits(choice([]).answer(for: "post", of: ""), "there is no distributor"))
        #expect(waits(choice(["a", "b"]).answer(for: "post", of: ""), "several distributors: a, b", needsUser: true))
        guard case .wait(let none) = choice([]).answer(for: "post", of: ""),
            case .wait(let several) = choice(["a", "b"]).answer(for: "post", of: "")
        else { throw CancellationError() }
        // No restart brings a distributor.
        #expect(none.advice.contains("nothing has to be restarted"))
        #expect(several.advice.contains("~/.config/notifyd/unifiedpush.toml"))
        // That of the others.
        #expect(choice(["a", "b"], known: ["b"]).answer(for: "post", of: "") == .register("b"))
        #expect(choice(["a"], known: ["b"]).answer(for: "post", of: "") == .register("a"))
        #expect(choice(["a", "b"], configured: "b", known: ["a"]).answer(for: "post", of: "") == .register("b"))
        #expect(waits(choice(["a"], configured: "b").answer(for: "post", of: ""), "b of unifiedpush.toml is not there"))
    }

    @Test func anEndpointStaysWhereItIs() {
        #expect(choice(["a", "b"], known: ["a", "b"]).answer(for: "post", of: "b") == .register("b"))
        #expect(waits(choice(["a"], known: ["a", "b"]).answer(for: "post", of: "b"), "its distributor b is away"))
        #expect(waits(choice([], configured: "b").answer(for: "post", of: "b"), "its distributor b is away"))
    }

    @Test func onlyTheConfigurationMovesIt() {
        #expect(choice(["a", "b"], configured: "a").answer(for: "post", of: "b") == .register("a"))
        #expect(choice(["a"], configured: "a").answer(for: "post", of: "b") == .register("a"))
        // Where it names one that is not there, the endpoint goes on where it is.
        guard case .register("b", let problem?) = choice(["b"], configured: "a").answer(for: "post", of: "b") else {
            Issue.record("it does not go on")
            return
        }
        #expect(problem.text.contains("a of unifiedpush.toml is not there") && problem.text.contains("b delivers"))
        #expect(waits(choice([], configured: "a").answer(for: "post", of: "b"), "a of unifiedpush.toml is not there"))
    }

    @Test func aFormerRegistrationIsKeptUntilItIsEnded() throws {
        let old = FormerRegistration(token: "t-_1", distributor: "org.unifiedpush.Distributor.a")
        guard case .put(let key, let text) = old.change else { throw CancellationError() }
        #expect(text == Array(old.distributor.utf8))
        #expect(FormerRegistration(key: key) == old)
        for key in ["removed/t", "removed//a", "x/t/a", "removed/t/a/b"] {
            #expect(FormerRegistration(key: key) == nil)
        }
    }
}
