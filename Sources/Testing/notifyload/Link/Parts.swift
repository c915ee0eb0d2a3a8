import Linking
import Mosquitto
import NotifyClient
import NotifyRehearsal

/// How much is measured.
struct Extent: Sendable {
    /// How long each latency is measured.
    var latency: Duration
    var sustained: Duration
    /// Events after the outage.
    var backlog: Int
    var idle: Duration
    /// Before the idle time begins.
    var rest: Duration
    /// Events that are claimed in time.
    var claims: Int

    static let full = Extent(
        latency: .seconds(10), sustained: .seconds(10), backlog: 100_000, idle: .seconds(60), rest: .seconds(75),
        claims: 10_000)
    static let quick = Extent(
        latency: .seconds(3), sustained: .seconds(4), backlog: 10_000, idle: .seconds(15), rest: .seconds(15),
        claims: 1000)
}

extension Measurement {
    /// Events a second. QoS 1 with the usual 20 messages under way is 20 in each round trip to the broker: at 150 ms
    /// each way 66 a second, events and claims together.
    private static func rate(at milliseconds: Int) -> Double { milliseconds < 100 ? 100 : 25 }

    /// Events and claims at a distance, beside the floor: figures `event_20_p50`, `floor_20_p50`, `claim_20_p50`, …
    mutating func noteLatencies(_ programs: LinkedDevice.Programs, _ milliseconds: Int, _ extent: Extent) async throws {
        let delay: Duration? = milliseconds == 0 ? nil : .milliseconds(milliseconds)
        let rate = Self.rate(at: milliseconds)
        let (events, floor, claims, failed) = try await Fixture.with(programs, delay: delay) { fixture in
            let stream = try await EventStream(fixture)
            defer { stream.leave() }
            let witness = try Witness(fixture)
            try await stream.run(rate: rate, for: .seconds(1))
            let size = witness.median
            witness.end()
            let warm = stream.ears[0].latencies.count
            try await stream.run(rate: rate, for: extent.latency)
            let events = Array(stream.ears[0].latencies.dropFirst(warm))
            let plain = try await Floor(fixture, size: size)
            let floor = try await plain.measure(rate: rate, for: extent.latency)
            plain.end()
            let claims = try await ClaimStream(fixture)
            defer { claims.leave() }
            let latencies = try await claims.run(rate: rate, for: extent.latency)
            return (events, floor, latencies, stream.failed + claims.failed)
        }
        note("event_\(milliseconds)", events)
        note("floor_\(milliseconds)", floor)
        note("claim_\(milliseconds)", claims)
        note("rate_\(milliseconds)", rate)
        note("claims_\(milliseconds)", Double(claims.count))
        note("failed_\(milliseconds)", Double(failed))
    }

    /// Events a second from one device to two others, and the processor time that they cost.
    mutating func noteSustained(_ programs: LinkedDevice.Programs, _ extent: Extent) async throws {
        let figures = try await Fixture.with(programs) { fixture in
            let stream = try await EventStream(fixture)
            defer { stream.leave() }
            var figures = Measurement()
            try await stream.saturate(256) {
                try await Task.sleep(for: .seconds(1))
                let clock = ContinuousClock()
                let before = (stream.heardByAll, fixture.bridge(0).time, fixture.bridge(1).time)
                let time = try await clock.measure { try await Task.sleep(for: extent.sustained) }
                let events = Double(max(1, stream.heardByAll - before.0))
                figures.note("sustained_per_s", events / (time / .seconds(1)))
                figures.note("sustained_out_us", (fixture.bridge(0).time - before.1) / .microseconds(1) / events)
                figures.note("sustained_in_us", (fixture.bridge(1).time - before.2) / .microseconds(1) / events)
            }
            _ = try await waits(within: .seconds(20)) { stream.heardByAll >= stream.sent }
            figures.note("sustained_missing", Double(stream.sent - stream.heardByAll))
            figures.note("sustained_disordered", Double(stream.ears.map(\.disordered).reduce(0, +)))
            return figures
        }
        for (name, value) in figures.figures { note(name, value) }
    }

    /// Events that are published while the bridge of their device is away, and heard afterwards.
    mutating func noteOutage(_ programs: LinkedDevice.Programs, _ extent: Extent) async throws {
        let figures = try await Fixture.with(programs) { fixture in
            let stream = try await EventStream(fixture)
            defer { stream.leave() }
            await fixture.devices[0].bridge.stop()
            try await stream.publish(extent.backlog)
            var figures = Measurement()
            let clock = ContinuousClock()
            let start = clock.now
            try await fixture.devices[0].bridge.start()
            figures.note("outage_connected_s", (clock.now - start) / .seconds(1))
            _ = try await waits(within: .seconds(400)) { stream.heardByAll >= extent.backlog }
            figures.note("outage_s", (clock.now - start) / .seconds(1))
            figures.note("outage_events", Double(extent.backlog))
            figures.note("outage_missing", Double(extent.backlog - stream.heardByAll))
            figures.note("outage_disordered", Double(stream.ears.map(\.disordered).reduce(0, +)))
            let peaks = fixture.devices.indices.map { fixture.bridge($0).peakMemory }
            figures.note("outage_peak_mib", peaks.max() ?? 0)
            return figures
        }
        for (name, value) in figures.figures { note(name, value) }
    }

    /// Memory, wake-ups and bytes while nothing happens, and then the bytes of events and claims.
    mutating func noteIdle(_ programs: LinkedDevice.Programs, _ extent: Extent) async throws {
        let figures = try await Fixture.with(programs, delay: .zero) { fixture in
            var figures = Measurement()
            // Each device has told all there is to tell, and the timer of the keepalive, which is not set again for
            // each message, has fired once.
            try await Task.sleep(for: extent.rest)
            let bridge = fixture.bridge(0)
            let waits = bridge.waits
            var traffic = fixture.proxies[0].traffic
            try await Task.sleep(for: extent.idle)
            figures.note("idle_waits", Double(bridge.waits - waits))
            figures.note("idle_s", extent.idle / .seconds(1))
            figures.note("idle_mib", bridge.memory)
            let quiet = fixture.proxies[0].traffic
            figures.note("idle_sent_bytes", Double(quiet.sent - traffic.sent))
            figures.note("idle_received_bytes", Double(quiet.received - traffic.received))
            // Slow enough that every event is a message of its own.
            let stream = try await EventStream(fixture)
            defer { stream.leave() }
            traffic = fixture.proxies[0].traffic
            let heard = fixture.proxies[1].traffic
            try await stream.run(rate: 20, for: .seconds(5))
            try await Task.sleep(for: .seconds(1))
            let (out, into) = (fixture.proxies[0].traffic, fixture.proxies[1].traffic)
            let events = Double(max(1, stream.sent))
            figures.note("event_out_bytes", Double(out.sent - traffic.sent) / events)
            figures.note("event_back_bytes", Double(out.received - traffic.received) / events)
            figures.note("event_in_bytes", Double(into.received - heard.received) / events)
            figures.note("event_ack_bytes", Double(into.sent - heard.sent) / events)
            return figures
        }
        for (name, value) in figures.figures { note(name, value) }
    }

    /// Banners of events that another device has claimed in time.
    mutating func noteBanners(_ programs: LinkedDevice.Programs, _ extent: Extent) async throws {
        let (result, banners) = try await Fixture.with(programs) { fixture in
            let claims = try await SilentClaims(fixture)
            defer { claims.leave() }
            return try await claims.run(extent.claims, rate: 200)
        }
        note("claimed_in_time", Double(result.inTime))
        note("claimed_late", Double(result.late))
        note("claims_failed", Double(result.failed))
        note("banners", Double(banners))
    }
}

/// Sees how large the messages of events are.
private struct Witness {
    private let connection: BrokerConnection
    private let sizes = Locked<[Int]>([])

    init(_ fixture: Fixture) throws {
        let options = ConnectionOptions(
            broker: Broker(.init(.host("localhost", port: fixture.broker.port))), client: "witness",
            will: Will(topic: "floor/gone/witness", payload: [1]), subscriptions: ["notifyd/1/mina/s/+"])
        let sizes = sizes
        connection = BrokerConnection(options, on: try WorkLoop()) { event in
            if case .received(let message) = event { sizes.withLock { $0.append(message.payload?.count ?? 0) } }
        }
    }

    var median: Int {
        let sorted = sizes.withLock { $0.sorted() }
        return sorted.isEmpty ? 600 : sorted[sorted.count / 2]
    }

    func end() { connection.end() }
}
