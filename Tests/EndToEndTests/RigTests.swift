import Foundation
import Testing

/// The daemon among real programs: notification servers, D-Bus tools, Python clients, systemd. The scripts in
/// `Rigs/` are the tests, and can be run by hand; here each becomes one test of the suite.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct RigTests {
    @Test func dunstShowsBannersAndClosesThemOnLateClaims() async throws {
        try await run("dunst.sh")
    }

    @Test func aServerThatFailsOrHangsDelaysNobody() async throws {
        try await run("dbusmock.sh")
    }

    @Test func everyKindOfSubscriberHearsAndPythonProgramsClaim() async throws {
        try await run("subscribers.sh")
    }

    @Test func whatNobodyClaimedWaitsForANotificationServer() async throws {
        try await run("restart-server.sh")
    }

    @Test func aLockedOrIdleSessionHasNobodyWhoLooks() async throws {
        try await run("logind.sh")
    }

    @Test func shellsCompleteTopicsAndIDsFromTheRunningDaemon() async throws {
        try await run("completions.sh")
    }

    @Test func theExamplesDoWhatTheySay() async throws {
        try await run("examples.sh")
    }

    @Test func theUnitRunsUnderAUserManager() async throws {
        try await run("systemd-user.sh")
    }

    @Test func whatTheUnitForbidsIsForbidden() async throws {
        try await run("sandbox.sh")
    }

    /// What a script answers when this machine lacks what it needs.
    private static let cannotRunHere: Int32 = 77

    private func run(_ script: String) async throws {
        let rigs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Rigs")
        let products = try Self.products()

        let process = Process()
        // The threads of a test block signals, and what they start inherits that: nothing in the rig would end on SIGTERM.
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--default-signal", "/bin/bash", rigs.appending(path: script).path, products.path]
        process.standardInput = FileHandle.nullDevice
        // Its output is the test runner's: one line for each fact. Waiting for its end must not occupy one of the
        // few threads that the tests beside this one need to keep their time.
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }

        if status == Self.cannotRunHere {
            let mustRun = ProcessInfo.processInfo.environment["CI"] == "true"
            print("\(script) cannot run on this machine; its last line above says why")
            #expect(!mustRun, "\(script) cannot run here, and CI must run everything: see SKIPPED above")
            return
        }
        #expect(status == 0, "\(script) ended with status \(status): see FAILED above")
    }

    /// The folder of the built programs, which is where the test bundle lies too.
    private static func products() throws -> URL {
        var candidates = [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()]
        candidates += Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        candidates.append(package.appending(path: ".build/debug"))
        let found = candidates.first {
            FileManager.default.isExecutableFile(atPath: $0.appending(path: "notifyd").path)
        }
        return try #require(found, "notifyd is in none of \(candidates.map(\.path)); build it with: swift build")
    }
}
