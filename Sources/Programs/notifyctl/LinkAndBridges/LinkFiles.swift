import ArgumentParser
import Glibc
import Linking
import NotifyClient
import NotifyText
import TOMLTables
import UserFiles

/// The files of a link: the configuration, and a file for each secret beside it.
struct LinkFiles {
    /// The path of the configuration.
    let configuration: String

    private var folder: String { configuration.lastIndex(of: "/").map { String(configuration[..<$0]) } ?? "." }

    init(_ path: String?) { configuration = path ?? BaseDirectories().configuration + "/mqtt.toml" }

    // MARK: Reading

    /// What the configuration says, or its mistakes; `nil` if there is none.
    var settings: Result<LinkSettings, ConfigurationError>? {
        ConfigurationText.parsed(configuration, LinkSettings.parse)
    }

    func read() throws -> LinkSettings {
        if let settings = try settings?.get() { return settings }
        throw Complaint(
            .badConfiguration,
            "There is no link: \(configuration) does not exist. “notifyctl link init” makes one, and "
                + "“notifyctl link join” joins one.")
    }

    // MARK: Writing

    /// A string of JSON is a basic string of TOML too.
    private static func quoted(_ text: String) -> String { JSON.string(text).text() }

    /// A file that is to be made.
    private typealias Draft = (path: String, text: String)

    /// The certificates of authorities, beside the configuration.
    private static let authoritiesFile = "mqtt.authorities.pem"

    /// Makes the files, all or none.
    ///
    /// - Parameter authorities: certificates in PEM; `nil` for those of the system.
    /// - Returns: their paths.
    func write(
        _ invitation: Invitation, name: String, allowsInsecure: Bool, authorities: String? = nil
    ) throws -> [String] {
        var lines = [
            "# The link between your devices: notifyd-mqtt.toml(5).", "[link]",
            "server = \(Self.quoted(invitation.server.description))",
        ]
        if allowsInsecure { lines.append("insecure = true") }
        lines += ["user = \(Self.quoted(invitation.user))", "name = \(Self.quoted(name))"]
        var drafts: [Draft] = []
        if let authorities {
            lines.append("authorities = \(Self.quoted(Self.authoritiesFile))")
            drafts.append((folder + "/" + Self.authoritiesFile, authorities))
        }
        if let password = invitation.password {
            lines.append(#"password = { file = "mqtt.password" }"#)
            drafts.append((folder + "/mqtt.password", password))
        }
        if let key = invitation.key {
            lines.append(#"key = { file = "link.key" }"#)
            drafts.append((folder + "/link.key", Base64.encode(key)))
        }
        let text = lines.joined(separator: "\n")
        // Last: without it there is no link.
        drafts.append((configuration, text))
        do throws(ConfigurationError) {
            _ = try LinkSettings.parse(text, file: configuration)
        } catch {
            // What stands in the file is an option here.
            let reasons = error.mistakes.map { $0.reason.replacing("insecure = true", with: "--insecure") }
            throw Complaint(.badData, lines: reasons)
        }
        guard access(configuration, F_OK) != 0 else {
            throw Complaint(
                .refused,
                "This device is linked already: \(configuration) exists, and nothing was changed. “notifyctl link” "
                    + "shows the link that there is; to begin another, end it with “notifyctl link leave” first.")
        }
        for draft in drafts where access(draft.path, F_OK) == 0 {
            throw Complaint(
                .refused, "\(draft.path) exists already; nothing was changed. Move the file away, and try again.")
        }
        return try make(drafts)
    }

    private func make(_ drafts: [Draft]) throws -> [String] {
        try UserHome.requireOwn(for: configuration)
        WholeFile.makeFolder(folder)
        var made: [String] = []
        for draft in drafts {
            do throws(WholeFile.Failure) {
                try WholeFile.write(draft.text + "\n", to: draft.path, isNew: true)
                made.append(draft.path)
            } catch {
                for path in made { unlink(path) }
                throw Complaint(.refused, "\(draft.path) cannot be written: \(error).")
            }
        }
        return made
    }

    // MARK: Leaving

    /// Deletes the secrets beside the configuration, and renames that.
    ///
    /// - Returns: the paths of what was deleted, and the new one of the configuration.
    func retire(_ settings: LinkSettings) throws -> (deleted: [String], renamed: String) {
        let credentials = [settings.password].compactMap(\.self) + settings.lines.flatMap(\.keys)
        // Of the files for certificates, only the one that was made with the link.
        let made = [settings.server.authorities].compactMap(\.self).filter { $0 == folder + "/" + Self.authoritiesFile }
        var deleted: [String] = []
        for path in credentials.compactMap(\.path) + made where !deleted.contains(path) {
            let isBeside = path.hasPrefix(folder + "/") && !path.dropFirst(folder.count + 1).contains("/")
            if isBeside, unlink(path) == 0 {
                deleted.append(path)
            } else if !isBeside || errno != ENOENT {
                Terminal.complain("\(Terminal.plain(path)) stays; delete it if nothing else needs it.")
            }
        }
        for credential in Set(credentials).filter(\.isOfUnit).map({ "\($0)" }).sorted() {
            Terminal.complain(
                "\(Terminal.plain(credential)) stays; delete the file that LoadCredential= of the unit names for it: "
                    + "systemctl --user cat notifyd-mqtt")
        }
        let old = configuration + ".old"
        guard rename(configuration, old) == 0 else {
            throw Complaint(.refused, "\(configuration) stays: \(String(cString: strerror(errno))).")
        }
        return (deleted, old)
    }
}

extension LinkSettings {
    static func parse(_ text: String, file: String) throws(ConfigurationError) -> LinkSettings {
        try TableReader.read(file: file, text: text) { LinkSettings.read(from: &$0, host: HostName.short) }
    }
}

struct LinkLeaveCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Take this device out of the link.",
        discussion: """
            Tells the other devices, removes what the broker keeps of this one, ends notifyd-mqtt, and deletes its \
            state, except the key for signing on channels, and the files with the password and the keys. The \
            configuration is renamed to mqtt.toml.old. Events stay here and there, and the current values too. It \
            leaves the channels as well, and asks before it does anything.

            Examples:
              notifyctl link leave
              notifyctl link leave --yes --silent
            """)

    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "Tell nobody, for a broker that does not come back. What it keeps of this device stays there.")
    var silent = false

    @OptionGroup var location: LinkFileOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        // What is wrong with it is told before anything is deleted.
        let settings = try location.files.read()
        try await bus.withQuery { query in
            _ = try await LinkInfo.ask(query)
            if !yes {
                try StandardInput.confirm(
                    "Take this device out of the link of “\(Terminal.plain(settings.user))”",
                    otherwise: "It asks before it leaves, and there is no terminal. With --yes it does not ask.")
            }
            do {
                _ = try await query.askLink("Leave", [.boolean(silent)], within: .seconds(25))
            } catch let error as NotifyError where error.name?.hasSuffix(".NotConnected") == true {
                throw Complaint(
                    .notReachable,
                    "\(error.message) If the broker does not come back: notifyctl link leave --silent")
            }
        }
        let (deleted, renamed) = try location.files.retire(settings)
        output.write(
            ["deleted": deleted, "renamed": renamed],
            text: (deleted.map { "Deleted \(Terminal.plain($0))." } + [
                "The configuration is now \(Terminal.plain(renamed)).", "This device has left the link.",
            ]).joined(separator: "\n"))
    }

}

struct LinkResetCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Give this machine a device of its own, if two machines share one.",
        discussion: """
            For a machine whose disk was copied to another one: both have the same device, and notifyd-mqtt has \
            stopped on both. Run this on each of them. It stops notifyd-mqtt and notifyd, has “notifyd --new-device” \
            give the journal a new device, and starts them again. Events stay, and keep their global names. Without a \
            service manager it says what to do by hand.

            Examples:
              notifyctl link reset
            """)

    @OptionGroup var common: CommonOptions

    /// Exit codes of “notifyd --new-device”.
    private static let journalInUse: CInt = 69
    /// A call in between has the bus start notifyd again.
    private static let attempts = 3

    func run() async throws {
        let device = try await bus.withQuery { query in try await reset(query) }
        output.write(
            ["device": device],
            text: """
                This machine is now device \(Terminal.plain(device)). Give one of the two machines another name in \
                mqtt.toml, and run “notifyctl link forget” on the other devices, with the device that both had.
                """)
    }

    private func reset(_ query: BusQuery) async throws -> String {
        let program = try Daemon.locate()
        let process = await query.process(of: Router.name)
        let isDaemonThere = await query.owner(of: Router.name) != nil
        let isBridgeThere = await query.owner(of: Remote.link.name) != nil
        let environment = Self.environment(of: process)
        let daemon = UnitControl(name: "notifyd.service", query: query)
        let bridge = UnitControl(name: "notifyd-mqtt.service", query: query)
        let (runsDaemon, runsBridge) = (await daemon.isRunning(), await bridge.isRunning())
        guard !isDaemonThere || runsDaemon, !isBridgeThere || runsBridge else {
            Terminal.complain("No service manager runs notifyd and notifyd-mqtt here. Do it by hand:")
            Terminal.print(
                "1. End notifyd-mqtt and notifyd.\n2. notifyd --new-device\n3. Start notifyd and notifyd-mqtt again.")
            throw ExitCode.refused
        }
        var report: (code: CInt, lines: [String]) = (Self.journalInUse, [])
        var failure: (any Error)?
        do {
            if runsBridge { try await bridge.stop() }
            for _ in 1...(runsDaemon ? Self.attempts : 1) where report.code == Self.journalInUse {
                if runsDaemon { try await daemon.stop() }
                report = try await Daemon.run(program, ["--new-device"], environment: environment)
            }
        } catch { failure = error }
        // Whatever has become of it, what ran before runs again.
        if runsDaemon { try await daemon.start() }
        if runsBridge { try await bridge.start() }
        if let failure { throw failure }
        guard report.code == 0, let device = report.lines.last else { throw Complaint(.refused, lines: report.lines) }
        return device
    }

    /// The journal is where the running notifyd has it.
    private static func environment(of process: Int?) -> [String: String] {
        var environment = ChildProcess.currentEnvironment
        guard let theirs = process.flatMap(ProcessFacts.environment(of:)) else { return environment }
        for name in ["HOME", "XDG_STATE_HOME"] { environment[name] = theirs[name] }
        return environment
    }
}

/// Stops and starts a unit of the user's service manager, and waits until it is done.
struct UnitControl {
    private static let limit: Duration = .seconds(25)
    private static let pollInterval: Duration = .milliseconds(50)

    let name: String
    let query: BusQuery

    /// `active`, `inactive`, `failed`, …; empty if the service manager does not know it.
    private func state() async -> String { await query.unit(name).text("ActiveState") }

    /// Whether it runs, or is about to.
    func isRunning() async -> Bool { ["active", "activating", "reloading"].contains(await state()) }

    func stop() async throws {
        _ = try await query.askManager("StopUnit", name, "replace")
        try await wait("stopped") { ["inactive", "failed", ""].contains($0) }
    }

    func start() async throws {
        // So that a failure is one of this start.
        _ = try? await query.askManager("ResetFailedUnit", name)
        _ = try await query.askManager("StartUnit", name, "replace")
        try await wait("started") { ["active", "failed"].contains($0) }
        guard await state() == "failed" else { return }
        throw Complaint(.notReachable, "\(name) has failed. “notifyctl doctor” says why.")
    }

    private func wait(_ what: String, _ isDone: (String) -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.limit
        while !isDone(await state()) {
            guard ContinuousClock.now < deadline else {
                throw Complaint(
                    .nothing, "\(name) has not \(what) within 25 s. See: systemctl --user status \(name)")
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }
}
