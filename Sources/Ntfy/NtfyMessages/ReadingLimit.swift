/// How fast a server is read, so that one that says more than anybody publishes takes neither this machine nor the
/// turns of the other servers. What comes faster stays in the network.
public struct ReadingLimit: Equatable, Sendable {
    /// A server that was away says at once what it has kept.
    public static let lines = 2000
    public static let linesPerSecond = 250
    /// A line that is passed over may have 8 MiB.
    public static let bytes = 10 << 20
    public static let bytesPerSecond = 512 << 10
    /// A small piece of the stream costs as much as so many bytes.
    static let leastPiece = 1024

    /// When the lines and the bytes that were read will be paid for.
    private var linesPaid: Duration = .zero
    private var bytesPaid: Duration = .zero

    public init() {}

    /// A piece of the stream was read.
    ///
    /// - Parameters:
    ///   - lines: that ended in it.
    ///   - bytes: of the piece.
    ///   - now: the time of a clock that never goes back.
    /// - Returns: how long to wait before the next piece is read.
    public mutating func read(lines: Int, bytes: Int, at now: Duration) -> Duration {
        linesPaid = max(linesPaid, now) + .seconds(1) * lines / Self.linesPerSecond
        bytesPaid = max(bytesPaid, now) + .seconds(1) * max(bytes, Self.leastPiece) / Self.bytesPerSecond
        let lineDebt = linesPaid - now - .seconds(1) * Self.lines / Self.linesPerSecond
        let byteDebt = bytesPaid - now - .seconds(1) * Self.bytes / Self.bytesPerSecond
        return max(lineDebt, byteDebt, .zero)
    }
}
