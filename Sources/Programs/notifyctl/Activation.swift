import NotifyClient

/// Starts notifyd, and reports early if that fails.
///
/// systemd does not tell the bus that a unit has failed. A caller waits until its call times out, and so does every
/// other caller meanwhile, even after the unit was repaired. So this asks the service manager, if there is one.
struct Activation {
    /// The name of an error whose message is complete.
    static let failure = "org.notifyd.notifyctl.ActivationFailed"
    private static let limit: Duration = .seconds(25)
    private static let pollInterval: Duration = .milliseconds(50)

    let address: String

    /// - Parameter starting: if false, it only finds out why notifyd does not run.
    /// - Throws: `notReachable` or `timedOut`, if it is known why notifyd does not start. Otherwise the next call
    ///   reports the error.
    func perform(starting: Bool) async throws(NotifyError) {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        let query = BusQuery(connection: connection)
        let (unit, _) = await UnitCheck.ask(query)
        guard starting else {
            if let error = await failure(of: unit) { throw error }
            return
        }
        guard await query.activatable().contains(Router.name) else { return }
        if unit.hasManager, ["loaded", "masked"].contains(unit.loadState) {
            try await startUnit(query)
        } else {
            try await startService(connection)
        }
        if let error = await query.badConfiguration() { throw error }
    }

    private func startUnit(_ query: BusQuery) async throws(NotifyError) {
        let deadline = ContinuousClock.now + Self.limit
        do throws(NotifyError) {
            _ = try await query.askManager("StartUnit", ["notifyd.service", "replace"])
        } catch  where error.code == .refused {
            throw NotifyError(.notReachable, "notifyd cannot be started: \(error.message)", name: Self.failure)
        }
        while await query.owner(of: Router.name) == nil {
            let (unit, _) = await UnitCheck.ask(query)
            if let error = await failure(of: unit) { throw error }
            // It may be on another bus.
            if unit.activeState == "active", !unit.hasJob { return }
            guard ContinuousClock.now < deadline else {
                throw NotifyError(.timedOut, "notifyd.service has not started within 25 s.")
            }
            try? await Task.sleep(for: Self.pollInterval)
            if Task.isCancelled { return }
        }
    }

    private func startService(_ connection: Connection) async throws(NotifyError) {
        do throws(NotifyError) {
            _ = try await connection.call(.toBus("StartServiceByName", [.string(Router.name), .uint32(0)]))
        } catch  where error.code == .refused || error.code == .notReachable {
            throw NotifyError(
                .notReachable,
                "notifyd could not be started by the bus: \(error.message) “notifyctl doctor” says more.",
                name: Self.failure)
        }
    }

    /// Why the unit has failed, if it has.
    private func failure(of unit: UnitCheck) async -> NotifyError? {
        guard unit.activeState == "failed" || unit.loadState == "masked", !unit.hasJob else { return nil }
        if unit.exitStatus == 78,
            let report = await ConfigurationCheck.ask().report, report.code == 78
        {
            let mistakes = report.lines.joined(separator: "\n")
            return NotifyError(
                .notReachable, "notifyd does not run, its configuration is bad:\n\(mistakes)",
                name: NotifyError.badConfiguration)
        }
        let finding = unit.finding
        return NotifyError(
            .notReachable,
            "notifyd is not on this bus: notifyd.service: \(finding.state). \(finding.advice ?? "")", name: Self.failure
        )
    }
}
