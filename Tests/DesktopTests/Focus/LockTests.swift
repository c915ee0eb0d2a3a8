import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// Lockers that tell logind nothing: while one locks the screen, no window counts.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LockTests {
    /// Runs with a window that holds a screen.
    private func withWindow(
        _ folder: TemporaryFolder, _ body: (FocusRig, X11Client) async throws -> Void
    ) async throws {
        let path = ChildProcess.path
        try await withXServer { server in
            // With a folder of its own it is a session of its own.
            let desktop = [
                "DISPLAY": server.display, "PATH": folder.path + "/bin:" + path, "XDG_RUNTIME_DIR": folder.path,
            ]
            try await FocusRig.with(desktop) { rig in
                let windows = try X11Client(display: server.display)
                windows.focus(windows.open("Post 27 – Example", app: "Firefox"))
                try await rig.start()
                try await rig.expect("/post/27 focused")
                try await body(rig, windows)
            }
        }
        folder.remove()
    }

    @Test func whileALockerRunsNoWindowCounts() async throws {
        let folder = try TemporaryFolder()
        // The name of a script is that of the shell which runs it.
        let program = try folder.write("#!/bin/sh\nread -r line < \"$0.pipe\"\n", to: "bin/swaylock")
        guard chmod(program, 0o755) == 0, mkfifo(program + ".pipe", 0o600) == 0 else {
            throw RehearsalError("The locker cannot be made.")
        }
        try await withWindow(folder) { rig, windows in
            #expect(try await rig.state()["lockers"]?.elements?.contains("swaylock") == true)
            let locker = try ChildProcess(
                program, [], environment: ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": folder.path])
            try await rig.expect("/post/27 hidden")
            #expect(try await rig.state()["obstacle"]?.string == "swaylock")
            windows.focus(windows.open("Post 28 – Example", app: "Firefox"))
            try await rig.expect("/post/28 hidden")
            await rig.stop()
            // One that runs already is found.
            try await rig.start()
            try await rig.expect("/post/28 hidden")
            await locker.end()
            try await rig.expect("/post/28 focused")
        }
    }

    @Test func whileAScreenSaverOnTheBusIsActiveNoWindowCounts() async throws {
        try await withWindow(try TemporaryFolder()) { rig, _ in
            let name = "org.mate.ScreenSaver"
            func tell(_ connection: Connection, _ isActive: Bool) {
                connection.send(
                    .signal("ActiveChanged", of: name, at: "/org/mate/ScreenSaver", [.boolean(isActive)]))
            }
            let saver = try await Connection.open(rig.bus.address)
            let stranger = try await Connection.open(rig.bus.address)
            defer { stranger.close() }
            saver.export(name) { $0.reply([.boolean(true)]) }
            try await saver.requestName(name)
            // It was asked.
            try await rig.expect("/post/27 hidden")
            #expect(try await rig.state()["obstacle"]?.string == name)
            tell(stranger, false)
            tell(saver, false)
            try await rig.expect("/post/27 focused")
            tell(saver, true)
            try await rig.expect("/post/27 hidden")
            saver.close()
            try await rig.expect("/post/27 focused")
        }
    }

    @Test func whileTheXServerBlanksNoWindowCounts() async throws {
        try await withWindow(try TemporaryFolder()) { rig, windows in
            windows.blank(true)
            try await rig.expect("/post/27 hidden")
            #expect(try await rig.state()["obstacle"]?.string == "the X screen saver")
            await rig.stop()
            try await rig.start()
            try await rig.expect("/post/27 hidden")
            windows.blank(false)
            try await rig.expect("/post/27 focused")
        }
    }
}
