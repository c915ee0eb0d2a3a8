import Linking
import Logging
import Mosquitto
import NotifyText

/// The longest payload that the broker accepts, as far as it is known.
///
/// A broker of MQTT 5 tells its longest packet, refuses a message, or ends the connection and says why. One of MQTT
/// 3.1.1 can only end the connection: if it does so soon after it was made, several times, and the longest message
/// under way is the same each time, that message was too long.
struct PayloadLimit {
    /// Bytes of a payload; `nil` while nothing is known.
    private(set) var bytes: Int?
    /// What ended connections have shown.
    private var shown: Int?
    private var suspect: (bytes: Int, ends: Int)?

    /// Shorter messages end no connection.
    private static let shortestSuspect = 4096
    private static let manyEnds = 5
    private static let soon: Duration = .seconds(10)

    /// A connection was made.
    ///
    /// - Parameters:
    ///   - packet: the longest packet that the broker accepts, if it has a limit.
    ///   - topic: bytes of the longest topic.
    mutating func connected(packet: Int?, topic: Int) {
        // Two heads of at most 5 bytes, the id of the packet, its properties.
        let announced = packet.map { max(0, $0 - topic - 16) }
        bytes = [announced, shown].compactMap { $0 }.min()
    }

    /// The broker has refused a message of this length; the connection goes on.
    mutating func refused(_ count: Int) { bytes = min(bytes ?? .max, count - 1) }

    /// The broker has acknowledged a message of this length.
    mutating func accepted(_ count: Int) {
        if let suspect, count >= suspect.bytes { self.suspect = nil }
    }

    /// A connection has ended.
    ///
    /// - Parameters:
    ///   - longest: the length of the longest message that was not acknowledged.
    ///   - age: how long the connection has lasted.
    mutating func ended(_ end: ConnectionEnd, longest: Int?, age: Duration) {
        guard let longest else { return }
        if end.kind == .messageTooLong { return show(longest) }
        guard end.isSilent, longest >= Self.shortestSuspect, age < Self.soon else {
            suspect = nil
            return
        }
        let ends = suspect.map { $0.bytes == longest ? $0.ends : 0 } ?? 0
        suspect = (longest, ends + 1)
        if ends + 1 >= Self.manyEnds { show(longest) }
    }

    private mutating func show(_ count: Int) {
        shown = min(shown ?? .max, count - 1)
        suspect = nil
    }
}

/// Lets so many messages of a map through a second, and counts the rest.
struct RateLimit {
    /// Messages a second.
    static let perSecond = 10
    /// Between two reports of what was dropped.
    private static let pause: Duration = .seconds(60)

    private var bucket = TokenBucket(every: Duration.seconds(1) / Self.perSecond, burst: 100)
    private var reported: Uptime?
    private var dropped = 0

    mutating func admitMessage(at now: Uptime) -> Bool { bucket.take(at: now.duration) }

    /// A message is lost.
    ///
    /// - Returns: how many were lost since the last report; `nil` if it is too early for another.
    mutating func countDropped(at now: Uptime) -> Int? {
        dropped += 1
        guard reported.map({ $0 + Self.pause <= now }) ?? true else { return nil }
        reported = now
        defer { dropped = 0 }
        return dropped
    }
}

/// Reports messages that do not belong on a line, once for each kind: whoever sends them must not fill the log.
struct RejectedMessages {
    private static let kinds: [(count: @Sendable (LinkStatistics) -> Int, text: Logger.Message)] = [
        (
            \.forged,
            """
            Messages on the broker cannot be opened, speak for somebody else, or were moved; they are passed over. \
            Another key, or a stranger?
            """
        ),
        (\.malformed, "Messages on the broker cannot be read; they are passed over"),
        (\.refused, "Somebody on the line says more than is taken at once; the rest is taken later"),
        (
            \.devicesRefused,
            "More devices are on the line, or of one member, than are taken; what the others say is passed over"
        ),
    ]

    private var reported: Set<Int> = []

    /// Logs what is new.
    mutating func log(_ statistics: LinkStatistics, line: String, _ logger: Logger) {
        for (index, kind) in Self.kinds.enumerated() where kind.count(statistics) > 0 && reported.insert(index).inserted
        {
            logger.warning(kind.text, metadata: ["line": "\(line)"])
        }
    }
}
