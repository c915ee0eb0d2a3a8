import Logging

/// All log records of the daemon.
///
/// The id is the `MESSAGE_ID` of the record (systemd.journal-fields(7)), made with `systemd-id128 new`. It
/// never changes, so that `journalctl MESSAGE_ID=…` finds a record whatever its wording. `systemd/notifyd.catalog`
/// explains each id to users.
struct MessageID: Hashable, Sendable {
    let id: String
    let level: Logger.Level
    /// Constant; the data is in the metadata.
    let sentence: String

    private init(_ id: String, _ level: Logger.Level, _ sentence: String) {
        (self.id, self.level, self.sentence) = (id, level, sentence)
    }

    // MARK: Start and end

    /// Everything is set up, and the name on the bus is owned.
    static let started = MessageID("2cd6197934594ca688248169582986bd", .info, "Started")
    /// A manager or a user stopped the daemon.
    static let stopping = MessageID("c05196b8cd4b4745853631bb9d1c7553", .info, "Stopping")
    /// A new configuration is in force after SIGHUP.
    static let reloaded = MessageID("68e07601f5554b28be0e7fa8eb88f8dd", .info, "Configuration reloaded")
    /// The daemon cannot start with this configuration.
    static let badConfiguration = MessageID("6b34c8c92c304dfeafbaaa2f00f88380", .critical, "The configuration is bad")
    /// The configuration read after SIGHUP is bad.
    static let badNewConfiguration = MessageID(
        "349cf832c5ef476ea22dca60585994d1", .error, "The new configuration is bad, the old one stays in force")
    /// Neither the environment nor the command line names a bus.
    static let noBusKnown = MessageID(
        "25761c03a36246e5abc72fddb38b1951", .critical,
        "No bus is known: set DBUS_SESSION_BUS_ADDRESS or XDG_RUNTIME_DIR, or use --address")
    /// The bus cannot be reached at its address.
    static let busUnreachable = MessageID(
        "a79df3a9cd674e04a11f81e8707ad298", .critical,
        "The bus cannot be reached; start a session bus, or name another with --address")
    /// The connection to the bus broke, which ends the daemon.
    static let busLost = MessageID("2f922c445f464ac1ba2e39be537f04d4", .error, "The connection to the bus is lost")
    /// Another process owns our name.
    static let nameTaken = MessageID(
        "9e1c9d7d233043249c47dda955c231bc", .critical,
        "The name is taken by another notifyd on this bus; stop it, or use --address")
    /// A system call failed that never fails on a healthy system.
    static let systemFailure = MessageID("5a7d4d8cda7e441799fd3c6f93b0d84a", .critical, "The daemon cannot go on")
    /// sd-bus could not send a message.
    static let messageNotSent = MessageID("26ba0c0e012c4a24adb76d139cb48a0d", .error, "A message could not be sent")

    /// A change of the time zone will not be noticed at once.
    static let zoneUnwatched = MessageID(
        "b5ca16f6dbeb4ccab085f492652f2636", .warning,
        "The time zone cannot be watched; schedules may begin or end late once")

    // MARK: Events

    /// An event was accepted and announced.
    static let event = MessageID("5b326d675ebb45fd88298bc14d704b16", .debug, "Event accepted")
    /// An event has its outcome.
    static let outcome = MessageID("916f8746e59748ae97416b9670ec894d", .debug, "Event decided")

    // MARK: Callers

    /// The user, unit and app of a connection are known.
    static let caller = MessageID("b808aff46986455ea495d177b8bcf5e0", .debug, "Caller identified")
    /// A rule of the policy denied a call.
    static let denied = MessageID("cb530686c42341eda34e73c81bab0948", .debug, "Denied by policy")

    // MARK: The journal of events

    /// The journal cannot be written, so publishing is refused.
    static let journalFailed = MessageID(
        "db5154fd82c044508d3f39c9bb348fdc", .critical,
        "The journal cannot be written; publishing is refused until it can")
    /// The journal can be written again.
    static let journalRecovered = MessageID(
        "e5302bf070e64b20be433549e92da19b", .notice, "The journal can be written again")
    /// The file could not be read and was renamed.
    static let journalDamaged = MessageID(
        "1b4d16b4c5044b02a46fb62ed1f80dec", .critical,
        "The index of the journal was damaged and is set aside; a new one has what could be read")
    /// A file of an earlier build was renamed.
    static let journalOfEarlierBuild = MessageID(
        "6f0cbf9d3b3b4e2f9a2a3c3f5d1e7a90", .warning,
        "The journal of an earlier build is set aside; this build does not read it")
    /// The index was not there when the journal was opened.
    static let journalIncomplete = MessageID(
        "8a91297b138e45dea2510f344f449b8d", .critical,
        "The index of the journal was missing; a new one has what the log still had")
    /// Records of the log or rows of the index are not what was written.
    static let journalEntriesDamaged = MessageID(
        "5a0f7a2f6c0e4b7c9d2b8a4c1e63d970", .critical,
        "Parts of the journal are damaged and are left out; what they said is lost")
    /// A file was deleted, moved or replaced while it was in use.
    static let journalLost = MessageID(
        "bac7d642e1aa4949aa7d7b493bd1264f", .critical,
        "The journal was deleted, moved or replaced while it was in use; what is there is used")
    /// The integrity check of a large file ended without a result.
    static let integrityCheckFailed = MessageID(
        "44b044a62b60498ca5049985cb27fd10", .warning, "The integrity check of the journal could not run")

    // MARK: The notification server

    /// A notification server is on the bus.
    static let server = MessageID("258a674bfd294b42bfb139aa7e5f3f33", .info, "A notification server is on the bus")
    /// No notification server is on the bus at the start.
    static let noServer = MessageID(
        "8c9d1397a8ef41e1b1d22ba4adcecc46", .warning, "No notification server is on the bus; banners wait for one")
    /// The notification server has left the bus.
    static let serverLeft = MessageID(
        "4fb91e063ab14392a28906939f9dc3c9", .warning, "The notification server has left the bus; banners wait for one")
    /// The server replied with an error, or not at all.
    static let bannerFailed = MessageID(
        "25e10dd8f7234faaaaae7fa2d500e569", .warning, "The notification server did not show a banner")
    /// The server has not answered for seconds.
    static let serverSilent = MessageID(
        "fcce41394bcb40709727059d86036dfb", .warning,
        "The notification server does not answer; banners wait until it does")
    /// It answers again.
    static let serverAnswers = MessageID(
        "4d98cde3309c424ca9b26bc59ce8b884", .notice, "The notification server answers again")
    /// The server's reply was neither an error nor the number of a banner.
    static let malformedReply = MessageID(
        "7bd061a6ba374ad5ab4c8d2b513b7133", .warning,
        "The notification server answered without a number; its banners cannot be updated or closed")
    /// A drop-in of a package has a mistake.
    static let dropInLeftOut = MessageID(
        "c8f1a6c2d7e84b0b9a35cf21d4a27b60", .error, "A file of a package is left out of the configuration")
    /// The server reported a button that the banner does not have.
    static let unknownAction = MessageID(
        "5f0d8c34a1b94f6c9c7e2f4ba6d07e15", .warning,
        "The notification server reports a button that its banner does not have; it is ignored")
    /// The server did not say what it can do.
    static let noCapabilities = MessageID(
        "90a7270269464bf6be7bd357ddd45e85", .warning,
        "The notification server does not say what it can do; it gets plain text without buttons")
    /// A banner is due, and the bus cannot start a server.
    static let serverNotStarted = MessageID(
        "1f2846cccab9438fa07ded92d9b0ace8", .warning,
        "The bus could not start a notification server; banners wait for one")

    // MARK: The session

    /// All sessions are locked or idle.
    static let unwatched = MessageID(
        "3f567bbc9ce44354ae4e1e61cb9d3f59", .info, "All sessions are locked or idle; screens claim nothing")
    /// One of the sessions is neither locked nor idle.
    static let watched = MessageID(
        "0e6e0fdaafa2469f8b2460338cc7e11f", .info, "A session is in use again; screens claim events")
    /// There is no system bus, so locked sessions are not detected.
    static let noSystemBus = MessageID(
        "e9b5cea13c214266808474ebe55c0940", .debug, "There is no system bus; locked and idle sessions are not detected")
    /// A call to logind could not be sent.
    static let noLogind = MessageID("372a6de93f884395a450cc40107afda6", .debug, "A call to logind failed")

    // MARK: Buttons

    /// A button was pressed that is no longer configured.
    static let outdatedAction = MessageID(
        "faedde699b85493e8cb76738a05a948e", .notice,
        "A button was pressed that is no longer configured; no command is run")
    /// Too many commands run to start another one.
    static let tooManyCommands = MessageID(
        "318b6bd5f850468ca7841c02b24711cd", .error, "Too many commands of buttons are running, this one is not started")
    /// The service manager runs a command.
    static let commandStarted = MessageID(
        "654a72690f7e435a9df71819548ebcf9", .debug, "The command of a button was started")
    /// A command could not be started.
    static let commandNotStarted = MessageID(
        "47cc7a539e11499e9dd927bf5d680483", .error, "The command of a button could not be started")
    /// A command failed.
    static let commandFailed = MessageID("bbdd7c5cc1e34ce9bfd4f8186f1500fd", .warning, "The command of a button failed")
    /// An application did not take the action.
    static let activationFailed = MessageID(
        "2da68c439dbd4681b52086ce9ca8415e", .warning, "The application of a button could not be activated")
}

extension Logger {
    /// Logs `message` with its data; never the title or the body of an event.
    func record(_ message: MessageID, _ data: @autoclosure () -> Metadata = [:]) {
        log(
            level: message.level, "\(message.sentence)",
            metadata: data().merging(["message.id": "\(message.id)"]) { $1 })
    }
}
