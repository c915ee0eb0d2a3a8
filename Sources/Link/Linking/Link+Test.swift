public import LinkMessages
import Routing

/// The answers of a test: a message to every device that is online, and back.
public struct LinkTest: Equatable, Sendable {
    /// Random; the messages have it.
    public let id: UInt64
    let sent: Uptime
    /// The devices that were asked, and how long each took; `nil`: it has not answered yet.
    public internal(set) var times: [Device: Duration?]

    /// Whether all have answered.
    public var isComplete: Bool { times.values.allSatisfy { $0 != nil } }
}

extension Link {
    private static let pongsAtOnce = 64
    private static let pongsPerSecond = 20.0

    mutating func startTest(_ id: UInt64, at now: Now) {
        let devices = connection.isUp ? peers.keys.filter { peers[$0]!.isOnline }.sorted() : []
        test = LinkTest(
            id: id, sent: now.uptime, times: Dictionary(uniqueKeysWithValues: devices.map { ($0, nil) }))
        for device in devices { _ = say(.ping(id), on: .questions(device), at: now) }
    }

    mutating func pinged(_ id: UInt64, by asker: Device, at now: Now) {
        var bucket =
            pongs ?? TokenBucket(perSecond: Self.pongsPerSecond, burst: Self.pongsAtOnce, at: now.uptime)
        defer { pongs = bucket }
        guard bucket.take(at: now.uptime) else {
            statistics.refused += 1
            return
        }
        _ = say(.pong(id), on: .answers(asker), at: now)
    }

    mutating func ponged(_ id: UInt64, by device: Device, at now: Now) {
        if answeredMark(id, by: device) { return }
        guard let test, test.id == id, test.times[device] == .some(nil) else {
            statistics.doubles += 1
            return
        }
        let time = Duration.microseconds(now.uptime.microseconds - test.sent.microseconds)
        self.test!.times[device] = .some(time)
        peers[device]?.roundTrip = time
    }
}
