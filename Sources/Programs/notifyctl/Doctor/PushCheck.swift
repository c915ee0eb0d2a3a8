import NotifyClient

/// Whether the endpoints of notifyd-unifiedpush can be used. That it is registered is said of the bridge.
struct PushCheck {
    private static let check = "push"
    /// So long it is told that an address has changed.
    static let memory: Duration = .seconds(7 * 86_400)

    /// None if notifyd-unifiedpush does not run, or does not answer.
    var endpoints: [PushEndpointInfo] = []
    /// Whether the bus can start it.
    var isActivatable = true
    /// Microseconds since the epoch.
    var now: Int64 = 0

    /// None without an endpoint.
    var findings: [Finding] {
        guard !endpoints.isEmpty else { return [] }
        var findings: [Finding] = []
        if !isActivatable {
            findings.append(
                .warning(
                    Self.check, "the bus cannot start notifyd-unifiedpush, and distributors forget such programs",
                    "Install org.notifyd.UnifiedPush.service into share/dbus-1/services, as make install does."))
        }
        for endpoint in endpoints
        where endpoint.changed > 0 && .microseconds(now - endpoint.changed) < Self.memory {
            let name = Terminal.plain(endpoint.name)
            findings.append(
                .warning(
                    Self.check, "\(name) has another address since \(Timestamp(endpoint.changed).clock(seenAt: now))",
                    "Give its sender the new one, if you have not: notifyctl push-endpoint show \(name). This is told for a week."
                ))
        }
        return findings
    }

    static func ask(_ query: BusQuery, activatable: [String]) async -> PushCheck {
        guard await query.owner(of: BusQuery.pushBridge) != nil else { return PushCheck() }
        let entries = (try? await query.askPush("List"))?.first?.elements ?? []
        return PushCheck(
            endpoints: entries.compactMap(\.entries).map(PushEndpointInfo.init),
            isActivatable: activatable.contains(BusQuery.connector), now: Timestamp.now)
    }
}
