/// What is known of the clock of a server. It tells from when on messages are taken, and how far the cursor may go.
public struct ServerClock: Sendable {
    /// The first connection of all, in seconds since the epoch.
    public struct Beginning: Equatable, Sendable {
        /// By the clock of the server.
        public var server: Int64
        /// By the clock of this machine.
        public var local: Int64

        public init(server: Int64, local: Int64) { (self.server, self.local) = (server, local) }

        /// Reads what ``record`` has written; `nil` if it is something else.
        public init?(record: [UInt8]) {
            let numbers = String(decoding: record, as: UTF8.self).split(separator: " ").map { Int64($0) }
            guard numbers.count == 2, let server = numbers[0], let local = numbers[1] else { return nil }
            self.init(server: server, local: local)
        }

        public var record: [UInt8] { Array("\(server) \(local)".utf8) }
    }

    /// Messages of a second come in any order, and some are late.
    public static let margin: Int64 = 30

    /// What is older than this is not taken: it was said before the first connection.
    public private(set) var floor: Int64 = 0
    /// The time that the server has said last, and when that was.
    private var told: (time: Int64, at: Duration)?

    public init() {}

    /// A stream has begun.
    ///
    /// - Parameters:
    ///   - time: by the server.
    ///   - local: by this machine.
    public mutating func open(at time: Int64, local: Int64, since beginning: Beginning) {
        // If the clock was set back, the first connection was earlier by it, too. Seconds are rounded.
        let moved = time - max(local - beginning.local, 0) - 1
        floor = moved + 2 * Self.margin < beginning.server ? moved : beginning.server
    }

    /// The server has said its time.
    ///
    /// - Parameter now: the time of a clock that never goes back.
    public mutating func tell(_ time: Int64, at now: Duration) { told = (time, now) }

    /// The time of a message as far as the cursor may follow it: not beyond the time that it is at the server.
    ///
    /// - Returns: `nil` while the server has not said its time.
    public func limited(_ time: Int64, at now: Duration) -> Int64? {
        told.map { min(time, $0.time + (now - $0.at).components.seconds + Self.margin) }
    }

}
