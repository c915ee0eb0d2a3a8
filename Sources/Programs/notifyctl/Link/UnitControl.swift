import NotifyClient

/// Stops and starts a unit of the user's service manager, and waits until it is done.
struct UnitControl {
    private static let limit: Duration = .seconds(25)
    private static let pollInterval: Duration = .milliseconds(50)

    let name: String
    let query: BusQuery

    /// `active`, `inactive`, `failed`, …; empty if the service manager does not know it.
    private func state() async -> String {
        guard let path = try? await query.askManager("LoadUnit", [.string(name)])?.string else { return "" }
        let unit = await query.properties(UnitCheck.manager, path, "\(UnitCheck.manager).Unit")
        return unit["ActiveState"]?.string ?? ""
    }

    /// Whether it runs, or is about to.
    func isRunning() async -> Bool { ["active", "activating", "reloading"].contains(await state()) }

    func stop() async throws(NotifyError) {
        _ = try await query.askManager("StopUnit", [.string(name), "replace"])
        try await wait("stopped") { ["inactive", "failed", ""].contains($0) }
    }

    func start() async throws(NotifyError) {
        _ = try await query.askManager("StartUnit", [.string(name), "replace"])
        try await wait("started") { $0 == "active" }
    }

    private func wait(_ what: String, _ isDone: (String) -> Bool) async throws(NotifyError) {
        let deadline = ContinuousClock.now + Self.limit
        while !isDone(await state()) {
            guard ContinuousClock.now < deadline else {
                throw NotifyError(
                    .timedOut, "\(name) has not \(what) within 25 s. See: systemctl --user status \(name)",
                    name: NotifyError.hangs)
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }
}
