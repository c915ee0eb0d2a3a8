package import NotifyClient
import NotifyRehearsal

package struct CommandResult: Sendable {
    /// `nil` when it did not end in time.
    package let exit: ChildProcess.Exit?
    package let output: [String]
    package let errors: [String]
}

extension Rig {
    /// Starts `notifyctl` on the bus of this rig. Its output and its errors are collected.
    package func start(_ arguments: String...) throws -> ChildProcess { try start(arguments: arguments) }

    /// Runs `notifyctl` on the bus of this rig to its end.
    package func run(_ arguments: String...) async throws -> CommandResult {
        let process = try start(arguments: arguments)
        let exit = await process.waitForExit()
        if exit == nil { process.signal(9) }
        return CommandResult(
            exit: exit, output: await process.allLines(of: 1) ?? [], errors: await process.allLines(of: 2) ?? [])
    }

    /// Runs a script in a process group of its own; `notifyctl` is in its `$PATH`.
    package func startScript(_ script: String, _ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", script, "sh"] + arguments, environment: environment, capturing: [1, 2], inOwnGroup: true)
    }

    package func start(arguments: [String]) throws -> ChildProcess {
        try ChildProcess(BuiltPrograms.notifyctl, arguments, environment: environment, capturing: [1, 2])
    }

    /// An environment with `notifyctl` in `$PATH` and the bus of this rig.
    package var environment: [String: String] {
        let folder = BuiltPrograms.notifyctl.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return [
            "PATH": folder.joined(separator: "/") + ":/usr/bin:/bin", "HOME": daemon.folder.path,
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(daemon.folder.path)/no-system-bus",
        ].merging(ChildProcess.sanitizerEnvironment) { $1 }
    }
}
