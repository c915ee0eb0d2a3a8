import Glibc
import NotifyClient
import NotifyRehearsal

/// The most events per second while latencies are measured.
private let gentleRate = 500.0

/// Starts a daemon with its surroundings, loads it, and stops everything.
func measure(daemon program: String, seconds: Double, waits: Double, _ around: LoadOptions) async throws -> Measurement
{
    try await withPrivateBus { bus in
        // Windows are longer than the measurement, so that there are no banners.
        let daemon = try DaemonProcess(
            program, on: bus,
            configuration: """
                [[route]]
                topic = "/load/{number}"
                window = "30s"
                [[route]]
                topic = "/open/{number}"
                window = "60s"
                [[route]]
                topic = "/quiet/{name}"
                banner = false

                """)
        let clock = ContinuousClock()
        try StoredEvents.write(
            decided: around.history, open: around.open, to: daemon.folder.path + "/state/notifyd")
        var measurement = Measurement()
        let start = clock.now
        try await daemon.start(within: .seconds(60))
        measurement.note("start_ms", (clock.now - start) / .milliseconds(1))
        let client = try await NotifyClient(address: bus.address)
        _ = try await client.paused()
        measurement.note("answer_ms", (clock.now - start) / .milliseconds(1))
        await client.close()
        guard let identifier = daemon.identifier, let busIdentifier = bus.identifier else {
            throw RehearsalError("The daemon has ended: \(daemon.log)")
        }
        let processes = (
            daemon: ProcessStatistics(identifier: identifier), bus: ProcessStatistics(identifier: busIdentifier),
            load: ProcessStatistics(identifier: getpid())
        )
        try await processes.daemon.settle(within: .seconds(20))

        let audience = try await openScreens(around.screens, on: bus.address)
        let subscribers = try IdleSubscribers(max(0, around.subscribers - 1), on: bus)
        let workload = try await Workload(on: bus.address, payload: around.payload)
        defer {
            workload.leave()
            subscribers.leave()
            for connection in audience { connection.close() }
        }

        // With many subscribers a few events are enough to fill the bus.
        let underWay = max(4, min(64, 3200 / max(1, around.subscribers)))
        measurement.note("in_flight", Double(underWay))
        try await workload.saturate(underWay) {
            try await workload.wait(for: 4 * underWay, and: .seconds(seconds / 4))
            let finished = workload.now.finished
            let before = (processes.daemon.time, processes.bus.time, processes.load.time)
            let time = try await clock.measure { try await workload.wait(for: 100, and: .seconds(seconds)) }
            let events = Double(max(1, workload.now.finished - finished))
            measurement.note("events_per_s", events / (time / .seconds(1)))
            measurement.note("daemon_us", (processes.daemon.time - before.0) / .microseconds(1) / events)
            measurement.note("bus_us", (processes.bus.time - before.1) / .microseconds(1) / events)
            measurement.note("load_us", (processes.load.time - before.2) / .microseconds(1) / events)
            measurement.note("load_share", (processes.load.time - before.2) / time)
        }
        let rate = min(gentleRate, max(5, 0.3 * (measurement["events_per_s"] ?? 0)))
        measurement.note("rate", rate)
        try await workload.pace(rate, for: .seconds(seconds))
        let tally = workload.now
        measurement.note("signal", tally.signals)
        measurement.note("claim", tally.claims)
        measurement.note("rss_mib", processes.daemon.memory)
        measurement.note("failed", Double(tally.failed))
        measurement.note("late", Double(tally.late))
        measurement.note("unfinished", Double(tally.sent - tally.finished))
        if let error = tally.firstError { complain("\(tally.failed) calls failed, the first one so: \(error)") }
        if around.rest > 0 {
            try await Task.sleep(for: .seconds(around.rest))
            measurement.note("rest_mib", processes.daemon.memory)
        }
        if waits > 0 {
            try await measurement.noteWaitsBesideServers(for: .seconds(waits), on: bus)
            // Last, because the flood goes on after its measurement.
            try await measurement.noteWaitsBesideFlood(for: .seconds(waits), on: bus)
        }
        await daemon.kill()
        return measurement
    }
}

extension Measurement {
    /// The latencies of one connection, alone and while another one floods the daemon.
    fileprivate mutating func noteWaitsBesideFlood(for time: Duration, on bus: PrivateBus) async throws {
        let topic = "/quiet/push"
        let probe = try await LatencyProbe(on: bus.address, calling: .push(to: topic))
        defer { probe.leave() }
        note("send", try await probe.latencies(for: time))
        let other = try await LatencyProbe(on: bus.address, calling: .question)
        defer { other.leave() }
        let flood = try await Flood(on: bus.address, topic: topic)
        defer { flood.leave() }
        let (waits, others) = try await flood.run { () async throws in
            async let others = other.latencies(for: time)
            return (try await probe.latencies(for: time), try await others)
        }
        note("flooded_send", waits)
        note("flooded_bus", others)
        note("flood_per_s", Double(flood.answers.all) / (time / .seconds(1)))
        note("flood_refused", Double(flood.answers.refused))
    }

    /// The same for events that become banners, without a notification server, with one that answers, and when it
    /// hangs.
    fileprivate mutating func noteWaitsBesideServers(for time: Duration, on bus: PrivateBus) async throws {
        let probe = try await LatencyProbe(on: bus.address, calling: .push(to: "/shown/push"))
        defer { probe.leave() }
        note("serverless_send", try await probe.latencies(for: time))
        let server = try await NotificationServer.start(on: bus)
        defer { server.stop() }
        note("served_send", try await probe.latencies(for: time))
        server.setMode(.hanging)
        note("hung_send", try await probe.latencies(for: time))
    }
}

private func complain(_ text: String) {
    let line = "notifyload: \(text)\n"
    write(STDERR_FILENO, line, line.utf8.count)
}

private func openScreens(_ count: Int, on address: String) async throws -> [Connection] {
    let heldByOne = 250
    var connections: [Connection] = []
    for start in stride(from: 0, to: count, by: heldByOne) {
        let connection = try await Connection.open(address)
        connections.append(connection)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in start..<min(start + heldByOne, count) {
                let call = Message.toRouter(
                    "OpenScreen", autoStart: false, [.string("/screen/\(number)"), .variants([:])])
                group.addTask { _ = try await connection.call(call) }
            }
            try await group.waitForAll()
        }
    }
    return connections
}
