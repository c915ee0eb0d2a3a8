import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What somebody has forgotten is gone from the daemon and from its files, and the rest is as it was.
@Suite(.timeLimit(.minutes(3)))
struct ForgetTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func noTextOfAForgottenEventIsInAnyFile() async throws {
        try await rig.publishSilently(400, at: "/chat", word: "secret")
        let kept = try await rig.publishSilently(100, at: "/post", word: "harmless")
        #expect(rig.filesHold("secret-title") && rig.filesHold("secret-body") && rig.filesHold("secret-field"))
        #expect(try await rig.client.forget("/chat") == 400)
        #expect(!rig.filesHold("secret"))
        #expect(rig.filesHold("harmless-title-100-"))
        #expect(try await rig.client.history("/chat").isEmpty)
        #expect(try await rig.client.history().map(\.event.id) == kept)
        #expect(try await rig.client.forget("/chat") == 0)
        try await rig.daemon.restart()
        #expect(!rig.filesHold("secret"))
        #expect(try await rig.client.history().map(\.event.id) == kept)
    }

    @Test(.rig) func aForgottenEventIsUnknownAndItsRepeatIsNot() async throws {
        let options = PublishOptions(source: "test", eventID: "1", banner: false)
        let id = try await rig.client.publish("/post/27", title: "t", options: options)
        #expect(try await rig.client.forget("/post/27", upTo: id) == 1)
        for _ in 1...2 {
            #expect(await refusal { try await rig.client.explain(id) }?.shortName == "UnknownEvent")
            await #expect(throws: NotifyError.self) { try await rig.client.claim(id) }
            #expect(try await rig.client.publish("/post/27", title: "t", options: options) == id)
            try await rig.daemon.restart()
        }
        #expect(try await rig.client.publish("/post/27", options: PublishOptions(banner: false)) > id)
    }

    // MARK: notifyctl

    @Test(.rig) func notifyctlForgetsTopicsAndOldEvents() async throws {
        let ids = try await rig.publishSilently(5, at: "/chat", word: "x")
        #expect(
            try await rig.run("forget", "/chat", "--before", "\(ids[1])", "--json=short").output == [
                #"{"topic":"/chat","count":1}"#
            ])
        #expect(try await rig.run("forget", "/chat", "--before", "1h").output == ["0"])
        #expect(try await rig.run("forget", "/chat", "--before", "0").output == ["0"])
        let old = PublishOptions(banner: false, published: 1_000_000)
        let past = try await rig.client.publish("/post/27", options: old)
        let present = try await rig.client.publish("/post/27", options: PublishOptions(banner: false))
        #expect(try await rig.run("forget", "/post", "--before", "1h").output == ["1"])
        #expect(try await rig.client.history("/post").map(\.event.id) == [present])
        #expect(past < present)
        #expect(try await rig.run("forget", "/").output == ["5"])
        #expect(try await rig.run("forget", "/").output == ["0"])
        #expect(try await rig.run("forget", "chat").exit == .code(65))
    }

    @Test(.rig) func anIDForgetsOneEventOrNone() async throws {
        let ids = try await rig.publishSilently(3, at: "/chat", word: "x")
        let refused = try await rig.run("forget", "\(ids[1])")
        #expect(refused.exit == .code(1))
        #expect(refused.errors.joined().contains("notifyctl forget /chat --before \(ids[1].rawValue + 1)"))
        #expect(try await rig.client.history().count == 3)
        #expect(try await rig.run("forget", "\(ids[0])").output == ["1"])
        #expect(try await rig.run("forget", "\(ids[0])").exit == .code(1))
        #expect(try await rig.client.history().map(\.event.id) == Array(ids[1...]))
        let value = try await rig.client.publish("/v", options: PublishOptions(retain: true, banner: false))
        let kept = try await rig.run("forget", "\(value)")
        #expect(kept.exit == .code(1))
        #expect(kept.errors.joined().contains("a current value"))
    }

    @Test(.rig) func theWholeHistoryIsExported() async throws {
        // More than a page.
        let ids = try await rig.publishSilently(1500, at: "/chat", word: "x")
        _ = try await rig.publishSilently(2, at: "/post", word: "x")
        let lines = try await rig.run("history", "/chat", "--export").output
        #expect(lines.count == 1500)
        let found = try lines.map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(found.map { ($0["id"] as? NSNumber)?.uint64Value } == ids.map(\.rawValue))
        #expect(found.allSatisfy { $0["topic"] as? String == "/chat" && $0["outcome"] as? String == "silent" })
        #expect((found[7]["fields"] as? [String: Any])?["note"] as? String == "x-field-8-")
        #expect(try await rig.run("history", "--export", "--after", "\(ids[1499])").output.count == 2)
        #expect(try await rig.run("history", "/nothing", "--export").exit == .code(1))
        #expect(try await rig.run("history", "--export", "-n", "3").exit == .code(64))
    }
}

extension Rig {
    /// Publishes events that get no banner.
    @discardableResult
    fileprivate func publishSilently(_ count: Int, at topic: String, word: String) async throws -> [EventID] {
        var ids: [EventID] = []
        for number in 1...count {
            let size = number % 50 == 0 ? 6000 : 40 + number % 200
            ids.append(
                try await client.publish(
                    topic, title: "\(word)-title-\(number)-",
                    body: "\(word)-body-\(number)-" + String(repeating: "b", count: size),
                    fields: ["note": .string("\(word)-field-\(number)-")], options: PublishOptions(banner: false)))
        }
        return ids
    }

    /// Whether a file of the journal has this text.
    fileprivate func filesHold(_ text: String) -> Bool {
        let state = "\(daemon.folder.path)/state/notifyd"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: state)) ?? []
        #expect(files.contains("index.db"))
        return files.contains { name in
            FileManager.default.contents(atPath: "\(state)/\(name)")?.range(of: Data(text.utf8)) != nil
        }
    }
}
