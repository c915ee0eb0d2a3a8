import ArgumentParser
import NotifyClient

struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "Turn on what notifyd can do here, and take it back.",
        discussion: """
            On a terminal it asks what to turn on, one by one, of what is installed and not on yet: path, shell, tmux, \
            focus, desktop, browser and link. Each is a line in a file of yours, a unit, or a file for a browser, and \
            --remove takes it back. What is on stays as it is. Scripts name what they want, with --yes.

            Examples:
              notifyctl setup
              notifyctl setup shell tmux --yes
              notifyctl setup --remove tmux
              notifyctl setup --remove --purge
            """)

    @Argument(help: "path, shell, tmux, focus, desktop, browser or link; all by default.") var parts: [SetupPart] = []
    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "Take it back.") var remove = false
    @Flag(help: "With --remove, also delete all events, the configuration and its secrets.") var purge = false

    @OptionGroup var bus: BusOptions

    func validate() throws {
        if purge, !remove || !parts.isEmpty { throw ValidationError("--purge is for --remove of everything.") }
        if yes, parts.isEmpty, !remove {
            throw ValidationError("With --yes, name what to turn on: notifyctl setup shell tmux --yes")
        }
    }

    func run() async throws {
        if let flaw = UserHome.flaw { throw Complaint(.refused, "Nothing was changed. \(flaw).") }
        let (connection, noBus) = await connection()
        defer { connection?.close() }
        let setup = await Setup(query: connection.map(BusQuery.init))
        if let noBus, (parts.isEmpty ? SetupPart.allCases : parts).contains(where: { $0.unit != nil }) {
            Terminal.complain("Without a bus, units are left as they are. \(noBus)")
        }
        try await remove ? takeBack(setup) : turnOn(setup)
    }

    /// Most parts need no bus.
    private func connection() async -> (Connection?, noBus: String?) {
        do throws(NotifyError) {
            guard let address = bus.address ?? NotifyClient.sessionBusAddress else { throw .noSessionBus }
            return (try await Connection.open(address), nil)
        } catch {
            return (nil, error.advice)
        }
    }

    private func turnOn(_ setup: Setup) async throws {
        let isAsking = !yes && StandardInput.isInteractive && Terminal.isInteractive
        var (available, failure): ([SetupPart], (any Error)?) = ([], nil)
        asking: for part in parts.isEmpty ? SetupPart.allCases : parts {
            do {
                switch try await setup.state(of: part, isAsking: isAsking) {
                case .on(let place): Terminal.print("\(part.rawValue) is on: \(Terminal.plain(place)).")
                case .absent(let reason):
                    guard !parts.isEmpty else { continue }
                    throw Complaint(.refused, "\(part.rawValue) cannot be turned on: \(reason).")
                case .off(let change):
                    available.append(part)
                    guard yes || isAsking else { continue }
                    Terminal.print("\(Terminal.bold(part.rawValue)): \(part.purpose) \(Terminal.plain(change))")
                    guard let isWanted = yes ? true : StandardInput.confirms("Turn it on") else { break asking }
                    if isWanted { try await setup.turnOn(part) }
                }
            } catch {
                failure = reported(error)
            }
        }
        if !available.isEmpty, !yes, !isAsking {
            throw Complaint(
                .validationFailure,
                "It asks what to turn on, and there is no terminal. This turns all of it on: notifyctl setup "
                    + available.map(\.rawValue).joined(separator: " ") + " --yes")
        }
        if let failure { throw failure }
    }

    private func takeBack(_ setup: Setup) async throws {
        if purge { try await setup.requirePurge() }
        if purge, !yes {
            try StandardInput.confirm(
                "Delete all events, the configuration and its secrets",
                otherwise: "It asks before it deletes your events, and there is no terminal. With --yes it does not.")
        }
        var failure: (any Error)?
        // What was written last goes first.
        var wasThere = false
        for part in (parts.isEmpty ? SetupPart.allCases : parts).reversed() {
            do { wasThere = try await setup.takeBack(part) || wasThere } catch { failure = reported(error) }
        }
        if let failure { throw failure }
        if purge { try await setup.purge() }
        if !wasThere, !purge { Terminal.print("There is nothing to take back.") }
    }
}

/// What “setup” turns on.
enum SetupPart: String, CaseIterable, ExpressibleByArgument {
    case path, shell, tmux, focus, desktop, browser, link

    /// What somebody has of it, in a sentence.
    var purpose: String {
        switch self {
        case .path: "New terminals, panes of tmux and services find notifyctl."
        case .shell: "You are told when a long command has ended in a terminal that you do not look at."
        case .tmux: "The pane of tmux that you look at is a screen: what happens in it gets no banner."
        case .focus: "The window that you look at is a screen, by rules that “notifyctl focus --learn” writes."
        case .desktop: "The notifications of other programs become events, which can be claimed, muted and listed."
        case .browser: "The tab that you look at is a screen, by rules in browser.toml."
        case .link: "Your devices share events and claims, by an MQTT broker."
        }
    }

    /// The unit that it is, if it is one.
    var unit: String? {
        switch self {
        case .focus: "notifyd-focus.service"
        case .desktop: "notifyd-desktop.service"
        case .link: "notifyd-mqtt.service"
        case .path, .shell, .tmux, .browser: nil
        }
    }
}
