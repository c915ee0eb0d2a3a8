import ArgumentParser
import Glibc
import Linking
import NotifyClient
import NotifyRehearsal
import UserFiles

/// Turns parts on, and takes them back.
struct Setup {
    enum State: Equatable {
        /// Where.
        case on(String)
        /// What turning it on changes, in a sentence.
        case off(String)
        /// Why it is not for this machine or session.
        case absent(String)
    }

    /// How long the service manager may take to read its files.
    private static let patience: Duration = .seconds(25)

    /// `nil` without a bus.
    let query: BusQuery?
    /// The `PATH` of the service manager; `nil` without one.
    private let managerPath: String?
    private let places = SetupPlaces(environment: ChildProcess.currentEnvironment)

    init(query: BusQuery?) async {
        self.query = query
        managerPath = await query?.managerEnvironment()?["PATH"]
    }

    // MARK: What is on

    func state(of part: SetupPart) async throws -> State {
        if let unit = part.unit { return await state(ofUnit: unit, part) }
        if part == .browser { return browserState }
        if let obstacle = places.obstacle(to: part) { return .absent(obstacle) }
        let lines = places.lines(of: part)
        let names = lines.map { places.shown($0.path) }.joined(separator: " and ")
        if try !lines.isEmpty && lines.allSatisfy({ try $0.isThere() }) { return .on(names) }
        return switch part {
        case .path where !places.needsPath(manager: managerPath): .absent("\(places.folder) is in every PATH")
        case .shell where places.shell == nil: .absent("your shell is not bash, zsh or fish")
        case .tmux where !places.has("tmux"): .absent("tmux is not installed")
        case .tmux where !places.hasOwn("notifyd-focus"): .absent("notifyd-focus is not installed")
        default: .off("A line in \(names).")
        }
    }

    private func state(ofUnit unit: String, _ part: SetupPart) async -> State {
        guard let query else { return .absent("there is no session bus") }
        guard await query.owner(of: Remote.manager.name) != nil else { return .absent("there is no service manager") }
        guard await query.unit(unit).text("LoadState") == "loaded" else { return .absent("there is no \(unit)") }
        if await query.isEnabled(unit), await UnitControl(name: unit, query: query).isRunning() {
            return .on("\(unit) is enabled")
        }
        let isFirst = part == .link && !hasLink
        return .off("Enables \(unit)\(isFirst ? ", and joins the link of another device" : "").")
    }

    private var hasLink: Bool { access(LinkFiles(nil).configuration, F_OK) == 0 }

    private var browserState: State {
        guard places.hasOwn("notifyd-browser") else { return .absent("notifyd-browser is not installed") }
        let used = KnownBrowser.allCases.filter { $0.isUsed(places.browsers) }
        guard !used.isEmpty else { return .absent("no browser has run here that can start notifyd-browser") }
        let unaware = used.filter { $0.manifest(places.browsers)?.manifest.isUsable != true }
        func names(_ browsers: [KnownBrowser]) -> String { browsers.map(\.rawValue).joined(separator: ", ") }
        return unaware.isEmpty
            ? .on("known to \(names(used))") : .off("A file in the settings of \(names(unaware)).")
    }

    // MARK: Turning it on

    func turnOn(_ part: SetupPart, isAsking: Bool) async throws {
        let lines = places.lines(of: part)
        for line in lines where try !line.isThere() {
            try line.write()
            Terminal.print("Wrote a line into \(Terminal.plain(places.shown(line.path))).")
        }
        switch part {
        case .path:
            await reload()
            let path = await query?.managerEnvironment()?["PATH"] ?? places.folder
            let isThere = path.split(separator: ":").contains { $0 == places.folder }
            Terminal.print("New terminals have it, and services from \(isThere ? "now" : "your next login") on.")
        case .shell: Terminal.print("New terminals have it.")
        case .tmux:
            let file = Terminal.plain(places.shown(lines[0].path))
            Terminal.print("A tmux that runs has it after this: tmux source-file \(file)")
        case .browser: try BrowserInstallCommand.parse([]).run()
        case .link:
            if try hasLink || join(isAsking) { try await enable(part) }
        case .focus, .desktop: try await enable(part)
        }
    }

    private func enable(_ part: SetupPart) async throws {
        guard let query, let unit = part.unit else { return }
        let arguments: [Value] = [.strings([unit]), .boolean(false), .boolean(false)]
        _ = try await query.ask(.manager, "EnableUnitFiles", arguments, within: Self.patience)
        await reload()
        Terminal.print("Enabled \(unit).")
        try await UnitControl(name: unit, query: query).start()
    }

    /// Has the service manager read its units, and environment.d(5).
    private func reload() async { _ = try? await query?.ask(.manager, "Reload", within: Self.patience) }

    /// Makes the files of a link.
    ///
    /// - Returns: whether there was an invitation.
    private func join(_ isAsking: Bool) throws -> Bool {
        if isAsking {
            Terminal.print("Paste the line that “notifyctl link pair” prints on another device, or press Return.")
        }
        let line = isAsking ? readLine() ?? "" : ""
        if line.isBlank {
            Terminal.complain(
                "There is no link yet. Make one with “notifyctl link init”, or join one with "
                    + "“notifyctl link join”; then: "
                    + "notifyctl setup link")
            if isAsking { return false }
            throw ExitCode.refused
        }
        _ = try LinkFiles(nil).write(Invitation.read(line), name: HostName.short, allowsInsecure: false)
        return true
    }

    // MARK: Taking it back

    /// - Returns: whether there was anything.
    func takeBack(_ part: SetupPart) async throws -> Bool {
        var (wasThere, failure): (Bool, (any Error)?) = (false, nil)
        for line in places.possibleLines(of: part) {
            do {
                guard try line.remove() else { continue }
                wasThere = true
                Terminal.print("Took the line out of \(Terminal.plain(places.shown(line.path))).")
            } catch {
                failure = error
            }
        }
        if part == .path, wasThere { await reload() }
        if part == .browser {
            let told = KnownBrowser.allCases.filter {
                HostManifest(at: $0.userFolder(places.browsers) + "/" + HostManifest.file, for: $0.family)
                    .map { places.isOwn($0.host) } ?? false
            }
            if !told.isEmpty {
                wasThere = true
                try BrowserUninstallCommand.parse(told.map(\.rawValue)).run()
            }
        }
        if let unit = part.unit { wasThere = try await disable(unit) }
        if let failure { throw failure }
        return wasThere
    }

    private func disable(_ unit: String) async throws -> Bool {
        guard let query, await query.owner(of: Remote.manager.name) != nil else {
            try requireOff(unit)
            return false
        }
        guard await query.unit(unit).text("LoadState") == "loaded" else { return false }
        let control = UnitControl(name: unit, query: query)
        let (isEnabled, isRunning) = (await query.isEnabled(unit), await control.isRunning())
        guard isEnabled || isRunning else { return false }
        let program = await query.service(unit)["ExecStart"]?.elements?.first?.elements?.first?.string ?? ""
        // A program of another name is what somebody has put in its place.
        if program.hasSuffix("/" + unit.dropLast(".service".count)), !places.isOwn(program) {
            Terminal.complain("\(unit) starts \(Terminal.plain(program)), another notifyd, and was left alone.")
            return false
        }
        if isRunning { try await control.stop() }
        let arguments: [Value] = [.strings([unit]), .boolean(false)]
        _ = try await query.ask(.manager, "DisableUnitFiles", arguments, within: Self.patience)
        await reload()
        Terminal.print("Stopped and disabled \(unit).")
        return true
    }

    /// - Throws: the exit code, after the reason was printed, if a unit is on that nobody can be told to stop.
    private func requireOff(_ unit: String) throws {
        let isRunning = RunningProgram.all().contains { $0.isUnit && $0.name + ".service" == unit }
        guard isRunning || places.isEnabled(unit) else { return }
        Terminal.complain(
            "\(unit) \(isRunning ? "runs" : "is enabled"), and the service manager cannot be asked to stop it. "
                + "In your session: systemctl --user disable --now \(unit)")
        throw ExitCode.refused
    }

    // MARK: Deleting everything

    /// - Throws: the exit code, after the reason was printed, if nothing may be deleted.
    func requirePurge() async throws {
        // Also if notifyd-mqtt does not run: the other devices go on waiting, and the only key may be here.
        if hasLink {
            Terminal.complain(
                "This device is linked with others, says "
                    + "\(Terminal.plain(LinkFiles(nil).configuration)). With notifyd-mqtt "
                    + "running, take it out of the link first: notifyctl link leave. To delete the configuration "
                    + "without that, move this file away.")
            throw ExitCode.refused
        }
        guard let query, await query.owner(of: Remote.manager.name) != nil else { return try requireNothingRuns() }
    }

    /// - Throws: the exit code, after the reason was printed, if a program runs that writes what is to be deleted.
    private func requireNothingRuns() throws {
        let programs = RunningProgram.all().filter(\.isWriter)
        guard !programs.isEmpty else { return }
        let names = programs.map { "\($0.name) (process \($0.process))" }.joined(separator: ", ")
        let (units, others) = (programs.filter(\.isUnit), programs.filter { !$0.isUnit })
        let commands =
            (units.isEmpty ? [] : ["systemctl --user stop \(units.map(\.name).joined(separator: " "))"])
            + (others.isEmpty ? [] : ["kill \(others.map { String($0.process) }.joined(separator: " "))"])
        Terminal.complain(
            "Events and configuration were not deleted, because this still runs: \(names). End it, and try again: "
                + commands.joined(separator: "; "))
        throw ExitCode.refused
    }

    /// Ends notifyd, and deletes what it and its bridges have written.
    func purge() async throws {
        for name in ["notifyd-ntfy", "notifyd-unifiedpush", "notifyd"] { _ = try await disable("\(name).service") }
        try requireNothingRuns()
        for folder in [BaseDirectories().state, BaseDirectories().configuration] where access(folder, F_OK) == 0 {
            removeTree(folder)
            guard access(folder, F_OK) != 0 else {
                Terminal.complain("\(Terminal.plain(folder)) cannot be deleted: \(String(cString: strerror(errno))).")
                throw ExitCode.refused
            }
            Terminal.print("Deleted \(Terminal.plain(places.shown(folder))).")
        }
    }
}
