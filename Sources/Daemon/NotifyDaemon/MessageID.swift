import Logging

/// All log records of the daemon.
///
/// The raw value is the `MESSAGE_ID` of the record (systemd.journal-fields(7)), made with `systemd-id128 new`. It
/// never changes, so that `journalctl MESSAGE_ID=…` finds a record whatever its wording. `systemd/notifyd.catalog`
/// explains each id to users.
enum MessageID: String, CaseIterable {
    // MARK: Start and end

    /// Everything is set up, and the name on the bus is owned.
    case started = "2cd6197934594ca688248169582986bd"
    /// A manager or a user stopped the daemon.
    case stopping = "c05196b8cd4b4745853631bb9d1c7553"
    /// A new configuration is in force after SIGHUP.
    case reloaded = "68e07601f5554b28be0e7fa8eb88f8dd"
    /// The daemon cannot start with this configuration.
    case badConfiguration = "6b34c8c92c304dfeafbaaa2f00f88380"
    /// The configuration read after SIGHUP is bad.
    case badNewConfiguration = "349cf832c5ef476ea22dca60585994d1"
    /// Neither the environment nor the command line names a bus.
    case noBusKnown = "25761c03a36246e5abc72fddb38b1951"
    /// The bus cannot be reached at its address.
    case busUnreachable = "a79df3a9cd674e04a11f81e8707ad298"
    /// The connection to the bus broke, which ends the daemon.
    case busLost = "2f922c445f464ac1ba2e39be537f04d4"
    /// Another process owns our name.
    case nameTaken = "9e1c9d7d233043249c47dda955c231bc"
    /// A system call failed that never fails on a healthy system.
    case systemFailure = "5a7d4d8cda7e441799fd3c6f93b0d84a"
    /// sd-bus could not send a message.
    case messageNotSent = "26ba0c0e012c4a24adb76d139cb48a0d"

    /// A change of the time zone will not be noticed at once.
    case zoneUnwatched = "b5ca16f6dbeb4ccab085f492652f2636"

    // MARK: Events

    /// An event was accepted and announced.
    case event = "5b326d675ebb45fd88298bc14d704b16"
    /// An event has its outcome.
    case outcome = "916f8746e59748ae97416b9670ec894d"

    // MARK: Callers

    /// The user, unit and app of a connection are known.
    case caller = "b808aff46986455ea495d177b8bcf5e0"
    /// A rule of the policy denied a call.
    case denied = "cb530686c42341eda34e73c81bab0948"

    // MARK: The journal of events

    /// The journal cannot be written, so publishing is refused.
    case journalFailed = "db5154fd82c044508d3f39c9bb348fdc"
    /// The journal can be written again.
    case journalRecovered = "e5302bf070e64b20be433549e92da19b"
    /// The file could not be read and was renamed.
    case journalDamaged = "1b4d16b4c5044b02a46fb62ed1f80dec"
    /// A file of an earlier build was renamed.
    case journalOfEarlierBuild = "6f0cbf9d3b3b4e2f9a2a3c3f5d1e7a90"
    /// The index was not there when the journal was opened.
    case journalIncomplete = "8a91297b138e45dea2510f344f449b8d"
    /// Records of the log or rows of the index are not what was written.
    case journalEntriesDamaged = "5a0f7a2f6c0e4b7c9d2b8a4c1e63d970"
    /// A file was deleted, moved or replaced while it was in use.
    case journalLost = "bac7d642e1aa4949aa7d7b493bd1264f"
    /// The integrity check of a large file ended without a result.
    case integrityCheckFailed = "44b044a62b60498ca5049985cb27fd10"

    // MARK: The notification server

    /// A notification server is on the bus.
    case server = "258a674bfd294b42bfb139aa7e5f3f33"
    /// No notification server is on the bus at the start.
    case noServer = "8c9d1397a8ef41e1b1d22ba4adcecc46"
    /// The notification server has left the bus.
    case serverLeft = "4fb91e063ab14392a28906939f9dc3c9"
    /// The server replied with an error, or not at all.
    case bannerFailed = "25e10dd8f7234faaaaae7fa2d500e569"
    /// The server has not answered for seconds.
    case serverSilent = "fcce41394bcb40709727059d86036dfb"
    /// It answers again.
    case serverAnswers = "4d98cde3309c424ca9b26bc59ce8b884"
    /// The server's reply was neither an error nor the number of a banner.
    case malformedReply = "7bd061a6ba374ad5ab4c8d2b513b7133"
    /// A drop-in of a package has a mistake.
    case dropInLeftOut = "c8f1a6c2d7e84b0b9a35cf21d4a27b60"
    /// The server reported a button that the banner does not have.
    case unknownAction = "5f0d8c34a1b94f6c9c7e2f4ba6d07e15"
    /// The server did not say what it can do.
    case noCapabilities = "90a7270269464bf6be7bd357ddd45e85"
    /// A banner is due, and the bus cannot start a server.
    case serverNotStarted = "1f2846cccab9438fa07ded92d9b0ace8"

    // MARK: The session

    /// All sessions are locked or idle.
    case unwatched = "3f567bbc9ce44354ae4e1e61cb9d3f59"
    /// One of the sessions is neither locked nor idle.
    case watched = "0e6e0fdaafa2469f8b2460338cc7e11f"
    /// There is no system bus, so locked sessions are not detected.
    case noSystemBus = "e9b5cea13c214266808474ebe55c0940"
    /// A call to logind could not be sent.
    case noLogind = "372a6de93f884395a450cc40107afda6"

    // MARK: Buttons

    /// A button was pressed that is no longer configured.
    case outdatedAction = "faedde699b85493e8cb76738a05a948e"
    /// Too many commands run to start another one.
    case tooManyCommands = "318b6bd5f850468ca7841c02b24711cd"
    /// The service manager runs a command.
    case commandStarted = "654a72690f7e435a9df71819548ebcf9"
    /// A command could not be started.
    case commandNotStarted = "47cc7a539e11499e9dd927bf5d680483"
    /// A command failed.
    case commandFailed = "bbdd7c5cc1e34ce9bfd4f8186f1500fd"
    /// An application did not take the action.
    case activationFailed = "2da68c439dbd4681b52086ce9ca8415e"
}

extension MessageID {
    /// Level and constant sentence; the data is in the metadata.
    fileprivate var wording: (level: Logger.Level, sentence: Logger.Message) {
        switch self {
        case .started: (.info, "Started")
        case .stopping: (.info, "Stopping")
        case .reloaded: (.info, "Configuration reloaded")
        case .badConfiguration: (.critical, "The configuration is bad")
        case .badNewConfiguration: (.error, "The new configuration is bad, the old one stays in force")
        case .noBusKnown:
            (.critical, "No bus is known: set DBUS_SESSION_BUS_ADDRESS or XDG_RUNTIME_DIR, or use --address")
        case .busUnreachable:
            (.critical, "The bus cannot be reached; start a session bus, or name another with --address")
        case .busLost: (.error, "The connection to the bus is lost")
        case .nameTaken: (.critical, "The name is taken by another notifyd on this bus; stop it, or use --address")
        case .systemFailure: (.critical, "The daemon cannot go on")
        case .messageNotSent: (.error, "A message could not be sent")
        case .zoneUnwatched: (.warning, "The time zone cannot be watched; schedules may begin or end late once")
        case .event: (.debug, "Event accepted")
        case .outcome: (.debug, "Event decided")
        case .caller: (.debug, "Caller identified")
        case .denied: (.debug, "Denied by policy")
        case .journalFailed: (.critical, "The journal cannot be written; publishing is refused until it can")
        case .journalRecovered: (.notice, "The journal can be written again")
        case .journalDamaged:
            (.critical, "The index of the journal was damaged and is set aside; a new one has what could be read")
        case .journalOfEarlierBuild:
            (.warning, "The journal of an earlier build is set aside; this build does not read it")
        case .journalIncomplete:
            (.critical, "The index of the journal was missing; a new one has what the log still had")
        case .journalEntriesDamaged:
            (.critical, "Parts of the journal are damaged and are left out; what they said is lost")
        case .journalLost:
            (.critical, "The journal was deleted, moved or replaced while it was in use; what is there is used")
        case .integrityCheckFailed: (.warning, "The integrity check of the journal could not run")
        case .server: (.info, "A notification server is on the bus")
        case .noServer: (.warning, "No notification server is on the bus; banners wait for one")
        case .serverLeft: (.warning, "The notification server has left the bus; banners wait for one")
        case .bannerFailed: (.warning, "The notification server did not show a banner")
        case .serverSilent: (.warning, "The notification server does not answer; banners wait until it does")
        case .serverAnswers: (.notice, "The notification server answers again")
        case .malformedReply:
            (.warning, "The notification server answered without a number; its banners cannot be updated or closed")
        case .dropInLeftOut: (.error, "A file of a package is left out of the configuration")
        case .unknownAction:
            (.warning, "The notification server reports a button that its banner does not have; it is ignored")
        case .noCapabilities:
            (.warning, "The notification server does not say what it can do; it gets plain text without buttons")
        case .serverNotStarted: (.warning, "The bus could not start a notification server; banners wait for one")
        case .unwatched: (.info, "All sessions are locked or idle; screens claim nothing")
        case .watched: (.info, "A session is in use again; screens claim events")
        case .noSystemBus: (.debug, "There is no system bus; locked and idle sessions are not detected")
        case .noLogind: (.debug, "A call to logind failed")
        case .outdatedAction: (.notice, "A button was pressed that is no longer configured; no command is run")
        case .tooManyCommands: (.error, "Too many commands of buttons are running, this one is not started")
        case .commandStarted: (.debug, "The command of a button was started")
        case .commandNotStarted: (.error, "The command of a button could not be started")
        case .commandFailed: (.warning, "The command of a button failed")
        case .activationFailed: (.warning, "The application of a button could not be activated")
        }
    }
}

extension Logger {
    /// Logs `message` with its data; never the title or the body of an event.
    func record(_ message: MessageID, _ data: @autoclosure () -> Metadata = [:]) {
        let (level, sentence) = message.wording
        log(level: level, sentence, metadata: data().merging(["message.id": "\(message.rawValue)"]) { $1 })
    }
}
