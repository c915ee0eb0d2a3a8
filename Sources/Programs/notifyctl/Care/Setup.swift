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
    private let places: SetupPlaces

    init(query: BusQuery?) async {
        self.query = query
        places = await SetupPlaces(environment: Self.environment())
    }

    /// That of this process, and the folder of zsh's files, which zsh alone may know: `~/.zshenv` need not export it.
    private static func environment() async -> [String: String] {
        var environment = ChildProcess.currentEnvironment
        guard SetupPlaces.login(environment).hasSuffix("/zsh"),
            let zsh = try? ChildProcess(
                "zsh", ["-c", #"print -r -- "$ZDOTDIR""#], environment: environment, capturing: [1, 2]),
            await zsh.waitForExit(within: BusQuery.timeout) == .code(0), let line = await zsh.allLines(of: 1)?.last
        else { return environment }
        environment["ZDOTDIR"] = line
        return environment
    }

    // MARK: What is on

    /// - Parameter isAsking: whether somebody can be asked for what it needs.
    func state(of part: SetupPart, isAsking: Bool) async throws -> State {
        if let unit = part.unit {
            let state = await state(ofUnit: unit, part)
            guard case .off = state, part == .link, !hasLink, !isAsking else { return state }
            return .absent(
                "there is no link yet; make one with “notifyctl link init”, or join one with “notifyctl link join”")
        }
        if part == .browser { return browserState }
        if let obstacle = places.obstacle(to: part) { return .absent(obstacle) }
        let lines = places.lines(of: part)
        let names = lines.map { places.shown($0.path) }.joined(separator: ", ")
        if try !lines.isEmpty && lines.allSatisfy({ try $0.isThere() }) { return .on(names) }
        return switch part {
        case .path where places.isInEveryPath: .absent("\(places.folder) is in every PATH")
        case .shell where places.shell == nil:
            .absent("your shell, \(places.login), is not bash, zsh or fish; SHELL can name another")
        case .tmux where !places.has("tmux"): .absent("tmux is not installed")
        case .tmux where !places.hasOwn("notifyd-focus"): .absent("notifyd-focus is not installed")
        default: .off("A line in \(names).")
        }
    }

    private func state(ofUnit unit: String, _ part: SetupPart) async -> State {
        guard let query else { return .absent("there is no session bus") }
        guard await query.owner(of: Remote.manager.name) != nil else { return .absent("there is no service manager") }
        switch await query.unit(unit).text("LoadState") {
        case "loaded": break
        case "masked": return .absent("\(unit) is masked; allow it again: systemctl --user unmask \(unit)")
        case "not-found", "": return .absent("there is no \(unit)")
        case let other: return .absent("\(unit) cannot be read (\(other)); see: systemctl --user status \(unit)")
        }
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

    func turnOn(_ part: SetupPart) async throws {
        let lines = places.lines(of: part)
        var failure: (any Error)?
        // Each is of use without the others.
        for line in lines where try !line.isThere() {
            do {
                try line.write()
                Terminal.print("Wrote a line into \(Terminal.plain(places.shown(line.path))).")
            } catch { failure = reported(error) }
        }
        if part == .path { await reload() }
        if let failure { throw failure }
        switch part {
        case .path: try await sayWhoHasThePath()
        case .shell: Terminal.print("New terminals have it.")
        case .tmux:
            let file = Terminal.plain(places.shown(lines[0].path))
            Terminal.print("A tmux that runs has it after this: tmux source-file \(file)")
        case .browser: try BrowserInstallCommand.parse([]).run()
        case .link:
            if !hasLink { try join() }
            try await enable(part)
        case .focus, .desktop: try await enable(part)
        }
    }

    /// - Throws: `Complaint` if services do not find the programs.
    private func sayWhoHasThePath() async throws {
        if places.shell == nil {
            Terminal.complain(
                "Your shell, \(Terminal.plain(places.login)), is not bash, zsh or fish: put "
                    + "\(Terminal.plain(places.folder)) into its PATH yourself.")
        }
        let terminals = places.shell == nil ? "Services have it" : "New terminals have it, and services"
        guard let path = await query?.managerEnvironment()?["PATH"] else {
            return Terminal.print("\(terminals) from your next login on.")
        }
        guard !path.split(separator: ":").contains(where: { $0 == places.folder }) else {
            return Terminal.print("\(terminals) from now on.")
        }
        throw Complaint(
            .refused,
            "Services do not find it: their PATH is \(path). Your session sets it, or another file of "
                + "environment.d(5); put \(places.folder) into it there.")
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

    /// Makes the files of a link, from an invitation that somebody types.
    private func join() throws {
        Terminal.print("Paste the line that “notifyctl link pair” prints on another device, or press Return.")
        guard let line = readLine(), !line.isBlank else {
            throw Complaint(
                .refused,
                "There is no link yet. Make one with “notifyctl link init”, or join one with "
                    + "“notifyctl link join”; then: notifyctl setup link")
        }
        _ = try LinkFiles(nil).write(Invitation(line: line), name: HostName.short, allowsInsecure: false)
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
            } catch { failure = reported(error) }
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

    /// - Throws: `Complaint` if a unit is on that nobody can be told to stop.
    private func requireOff(_ unit: String) throws {
        let isRunning = RunningProgram.all().contains { $0.isUnit && $0.name + ".service" == unit }
        guard isRunning || places.isEnabled(unit) else { return }
        throw Complaint(
            .refused,
            "\(unit) \(isRunning ? "runs" : "is enabled"), and the service manager cannot be asked to stop it. "
                + "In your session: systemctl --user disable --now \(unit)")
    }

    // MARK: Deleting everything

    /// - Throws: `Complaint` if nothing may be deleted.
    func requirePurge() async throws {
        // Also if notifyd-mqtt does not run: the other devices go on waiting, and the only key may be here.
        if hasLink {
            throw Complaint(
                .refused,
                "This device is linked with others, says \(LinkFiles(nil).configuration). With "
                    + "notifyd-mqtt running, take it out of the link first: notifyctl link leave. To delete the "
                    + "configuration without that, move this file away.")
        }
        guard let query, await query.owner(of: Remote.manager.name) != nil else { return try requireNothingRuns() }
    }

    /// - Throws: `Complaint` if a program runs that writes what is to be deleted.
    private func requireNothingRuns() throws {
        let programs = RunningProgram.all().filter(\.isWriter)
        guard !programs.isEmpty else { return }
        let names = programs.map { "\($0.name) (process \($0.process))" }.joined(separator: ", ")
        let (units, others) = (programs.filter(\.isUnit), programs.filter { !$0.isUnit })
        let commands =
            (units.isEmpty ? [] : ["systemctl --user stop \(units.map(\.name).joined(separator: " "))"])
            + (others.isEmpty ? [] : ["kill \(others.map { String($0.process) }.joined(separator: " "))"])
        throw Complaint(
            .refused,
            "Events and configuration were not deleted, because this still runs: \(names). End it, and try again: "
                + commands.joined(separator: "; "))
    }

    /// Ends notifyd, and deletes what it and its bridges have written.
    func purge() async throws {
        for name in ["notifyd-ntfy", "notifyd-unifiedpush", "notifyd"] { _ = try await disable("\(name).service") }
        try requireNothingRuns()
        var failure: (any Error)?
        for folder in [BaseDirectories().state, BaseDirectories().configuration] where access(folder, F_OK) == 0 {
            let target = FileFacts.link(at: folder) == nil ? nil : realpath(folder, nil)
            defer { free(target) }
            if let (path, error) = removeTree(folder) {
                throw Complaint(.refused, "\(path) cannot be deleted: \(String(cString: strerror(error))).")
            }
            Terminal.print("Deleted \(Terminal.plain(places.shown(folder))).")
            guard let target else { continue }
            failure = reported(
                Complaint(
                    .refused,
                    "It was a link to \(String(cString: target)), and everything in that folder is "
                        + "still there. Delete it yourself."))
        }
        if let failure { throw failure }
    }
}
