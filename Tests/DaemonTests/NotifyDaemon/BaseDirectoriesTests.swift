import Foundation
import NotifyRehearsal
import Testing
import UserFiles

@testable import NotifyDaemon

/// Relative paths in the environment are ignored; those of the command line are relative to the working directory.
struct BaseDirectoriesTests {
    private func directories(_ environment: [String: String]) -> BaseDirectories {
        BaseDirectories(environment: { environment[$0] }, runtime: "/nowhere")
    }

    @Test(arguments: ["", "rel", "./rel", "~/rel"]) func aRelativePathCountsAsNotSet(_ path: String) {
        let found = directories([
            "HOME": "/home/mina", "XDG_STATE_HOME": path, "XDG_CONFIG_HOME": path, "XDG_RUNTIME_DIR": path,
        ])
        #expect(found.state == "/home/mina/.local/state/notifyd")
        #expect(found.configuration == "/home/mina/.config/notifyd")
        #expect(found.sessionBusAddress == nil)
    }

    @Test func anAbsolutePathCounts() {
        let found = directories([
            "HOME": "/home/mina", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/r",
        ])
        #expect(found.state == "/s/notifyd")
        #expect(found.configuration == "/c/notifyd")
        #expect(found.sessionBusAddress == "unix:path=/r/bus")
    }

    @Test func withoutAnEnvironmentTheBusIsTheOneOfTheUsersRuntimeDirectory() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let found = BaseDirectories(environment: { _ in nil }, runtime: folder.path)
        #expect(found.sessionBusAddress == nil)
        try folder.write("", to: "bus")
        #expect(found.sessionBusAddress == "unix:path=\(folder.path)/bus")
        let named = BaseDirectories(
            environment: { ["XDG_RUNTIME_DIR": "/r"][$0] }, runtime: folder.path)
        #expect(named.sessionBusAddress == "unix:path=/r/bus")
        #expect(BaseDirectories.noSessionBus.contains("set DBUS_SESSION_BUS_ADDRESS"))
    }

    @Test func withoutAHomeInTheEnvironmentTheUsersOwnCounts() {
        #expect(directories([:]).state.hasPrefix("/"))
        #expect(directories(["HOME": "rel"]).state == directories([:]).state)
    }

    @Test func aPathOfTheCommandLineIsRelativeToTheWorkingDirectory() {
        let here = FileManager.default.currentDirectoryPath
        #expect(BaseDirectories.absolute(path: "/state") == "/state")
        #expect(BaseDirectories.absolute(path: "state/of") == here + "/state/of")
    }
}
