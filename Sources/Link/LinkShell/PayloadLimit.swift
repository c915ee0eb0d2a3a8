import Mosquitto

/// How long a payload the broker takes, as far as it has said so or shown it.
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
    ///   - packet: the longest packet that the broker takes, if it has said so.
    ///   - topic: bytes of the longest topic.
    mutating func connected(packet: Int?, topic: Int) {
        // Two heads of at most 5 bytes, the id of the packet, its properties.
        let told = packet.map { max(0, $0 - topic - 16) }
        bytes = [told, shown].compactMap { $0 }.min()
    }

    /// The broker has refused a message of this length; the connection goes on.
    mutating func refused(_ count: Int) { bytes = min(bytes ?? .max, count - 1) }

    /// The broker has taken a message of this length.
    mutating func taken(_ count: Int) {
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
