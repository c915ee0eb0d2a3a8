import Foundation
import Glibc
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
            "HOME": "/home/mina", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c",
        ])
        #expect(found.state == "/s/notifyd")
        #expect(found.configuration == "/c/notifyd")
    }

    // MARK: The session bus

    /// Makes a folder with a socket in it that is called `bus`.
    private func runtime(_ name: String = "run", of user: uid_t = getuid()) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.folder(name)
        close(try listeningSocket(at: "\(folder.path)/\(name)/bus"))
        if user != getuid() { try #require(chown("\(folder.path)/\(name)/bus", user, user) == 0) }
        return folder
    }

    @Test func withoutAnAddressTheBusIsTheSocketOfTheRuntimeDirectory() throws {
        let (named, usual) = (try runtime(), try runtime())
        defer { for folder in [named, usual] { folder.remove() } }
        var environment = ["XDG_RUNTIME_DIR": named.path + "/run"]
        let found = BaseDirectories(environment: { environment[$0] }, runtime: usual.path + "/run")
        #expect(found.sessionBusAddress == "unix:path=\(named.path)/run/bus")
        // cron has no such variable, and a container one without a bus.
        for folder in [nil, "/nowhere"] {
            environment["XDG_RUNTIME_DIR"] = folder
            #expect(found.sessionBusAddress == "unix:path=\(usual.path)/run/bus")
        }
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/r/bus"
        #expect(found.sessionBusAddress == "unix:path=/r/bus")
    }

    @Test func whatIsNoSocketIsNoBusAndTheErrorSaysHowToNameOne() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try folder.write("", to: "bus")
        let found = BaseDirectories(
            environment: { ["XDG_RUNTIME_DIR": "/r"][$0] }, runtime: folder.path)
        #expect(found.sessionBusAddress == nil)
        #expect(
            found.noSessionBus == "DBUS_SESSION_BUS_ADDRESS is not set, and there is no /r/bus, and \(folder.path)/bus "
                + "is not a socket; set DBUS_SESSION_BUS_ADDRESS to the address of the bus")
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, who may give a file away"))
    func theBusOfSomebodyElseIsPassedOver() throws {
        let (foreign, own) = (try runtime(of: 64_201), try runtime())
        defer { for folder in [foreign, own] { folder.remove() } }
        let kept = ["XDG_RUNTIME_DIR": foreign.path + "/run"]
        let found = BaseDirectories(environment: { kept[$0] }, runtime: own.path + "/run")
        #expect(found.sessionBusAddress == "unix:path=\(own.path)/run/bus")
        let alone = BaseDirectories(environment: { _ in nil }, runtime: foreign.path + "/run")
        #expect(alone.sessionBusAddress == nil)
        #expect(alone.noSessionBus.contains("/bus belongs to user 64201, and not to user 0; set DBUS"))
    }

    @Test func theAddressOfAnOddPathIsEscaped() throws {
        let folder = try runtime("a,b é")
        defer { folder.remove() }
        let found = BaseDirectories(environment: { _ in nil }, runtime: folder.path + "/a,b é")
        #expect(found.sessionBusAddress == "unix:path=\(folder.path)/a%2cb%20%c3%a9/bus")
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
