import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `notifyctl demo link` with three devices and a real mosquitto.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct LinkDemoTests {
    @Test func threeDevicesPlayTheWholeStory() async throws {
        let process = try ChildProcess(
            BuiltPrograms.notifyctl, ["demo", "link"], environment: ChildProcess.currentEnvironment, capturing: [1, 2])
        let exit = await process.waitForExit(within: .seconds(90))
        let lines = try #require(await process.allLines(of: 1))
        let errors = await process.allLines(of: 2) ?? []
        #expect(exit == .code(0), "\(lines.joined(separator: "\n"))\n\(errors.joined(separator: "\n"))")
        #expect(errors.isEmpty)
        #expect(lines.last == "✓ All 4 went as they should.")
        for name in ["desk", "laptop", "phone"] {
            #expect(lines.filter { $0.hasPrefix("  \(name) ") }.count == 4)
            #expect(lines.contains { $0.hasPrefix("  \(name) ") && $0.contains("has all 15 at") })
        }
        #expect(lines.contains { $0.hasPrefix("  phone ") && $0.contains("taken down at") })
    }

    @Test func withoutABrokerTheErrorSaysWhatToInstall() {
        #expect {
            try PrivateBroker.locate(in: ["/nowhere"])
        } throws: {
            "\($0)".contains("apt install mosquitto")
        }
    }
}
