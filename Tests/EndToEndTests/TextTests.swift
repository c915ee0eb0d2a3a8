import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// Text that means harm, or is none, on its way through the programs.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TextTests {
    private let rig: Rig! = Fixture.current()
    private static let text = "a\u{1b}[2Jb\u{61c}c\u{2028}d\u{202e}e\u{9b}f\ng"

    @Test(.rig) func nothingThatATerminalActsOnIsPrinted() async throws {
        let topic = "/post/x\u{61c}\u{2028}\u{202e}y"
        let options = PublishOptions(source: Self.text, eventID: Self.text, retain: true)
        let id = try await rig.client.publish(
            topic, title: Self.text, body: Self.text, fields: [Self.text: .string(Self.text)], options: options)
        let screen = try await rig.client.openScreen(topic)
        for command in [
            ["listen", "--since", "0", "-n", "1"], ["watch", "/", "-n", "1"], ["history"], ["show", "\(id)"],
            ["why", "\(id)"], ["status"], ["top"], ["replay"], ["send", Self.text], ["claim", Self.text],
            ["claim-topic", Self.text], ["listen", topic, "--json=short", "--since", "0", "-n", "1"],
            ["history", "-j"], [Self.text], ["help", Self.text],
        ] {
            let process = try rig.start(arguments: command)
            #expect(await process.waitForExit() != nil)
            let lines = try #require(await process.allLines(of: 1)) + (try #require(await process.allLines(of: 2)))
            #expect(!lines.isEmpty)
            for line in lines where line.replacing("\t", with: "").unicodeScalars.contains(where: \.isActive) {
                Issue.record("\(command.joined(separator: " ").visible()) prints \(line.visible())")
            }
        }
        await screen.close()
    }

    @Test(.rig) func jsonIsTheSameText() async throws {
        try await rig.client.publish("/a", title: Self.text, fields: [Self.text: .string(Self.text)])
        let line = try #require(try await rig.run("history", "--json=short").output.first)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["title"] as? String == Self.text)
        #expect((object["fields"] as? [String: String])?[Self.text] == Self.text)
    }

    @Test(.rig) func anArgumentThatIsNotTextIsRefused() async throws {
        let process = try rig.startScript(
            """
            notifyctl send /a "$(printf 'ab\\377c')"; echo $?
            notifyctl send /a t b -f "$(printf 'k=\\303')"; echo $?
            notifyd --check-config --config "$(printf '\\200')"; echo $?
            """)
        #expect(await process.allLines(of: 1) == ["65", "65", "65"])
        let complaints = try #require(await process.allLines(of: 2))
        #expect(complaints.count == 3)
        #expect(complaints[0].hasPrefix("notifyctl: argument 3 is not UTF-8 text: byte 3 is 0xff"))
        #expect(complaints[1].hasPrefix("notifyctl: argument 6 is not UTF-8 text: byte 3 is 0xc3"))
        #expect(complaints[2].hasPrefix("notifyd: argument 3 is not UTF-8 text: byte 1 is 0x80"))
        #expect(try await rig.client.history("/").isEmpty)
    }

    @Test(.rig) func aConfigurationThatIsNotTextIsRefusedWithItsPlace() async throws {
        let process = try rig.startScript(
            """
            printf '[log]\\n# \\303\\251\\377\\n' > "$HOME/bad.toml"
            notifyd --check-config --config "$HOME/bad.toml"; echo $?
            mkdir -p "$HOME/.config/notifyd/config.d"
            : > "$HOME/.config/notifyd/config.d/$(printf '\\377').toml"
            notifyd --check-config; echo $?
            """)
        #expect(await process.allLines(of: 1) == ["78", "78"])
        let complaints = try #require(await process.allLines(of: 2))
        #expect(complaints.contains { $0.contains("bad.toml:2:4: this byte (0xff) is not UTF-8") })
        #expect(complaints.contains { $0.contains("the name of this file is not UTF-8") })
    }
}
