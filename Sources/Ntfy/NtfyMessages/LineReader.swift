/// Splits a stream of bytes into lines, however they were cut on the way. A line that is too long is dropped, and counted.
public struct LineReader: Sendable {
    /// What a server with the largest usual settings sends is shorter.
    public static let maximumBytes = 64 << 10

    private let limit: Int
    private var line: [UInt8] = []
    private var isDropping = false
    /// Lines that were too long.
    public private(set) var dropped = 0

    public init(limit: Int = Self.maximumBytes) { self.limit = limit }

    /// - Returns: the lines that end in these bytes, without their ends and without empty ones.
    public mutating func append(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                if !line.isEmpty { lines.append(line) }
                line.removeAll(keepingCapacity: line.capacity <= 4096)
                isDropping = false
            } else if line.count < limit {
                if !isDropping { line.append(byte) }
            } else {
                dropped += 1
                isDropping = true
                line = []
            }
        }
        return lines
    }

    /// The end of the stream: the last line of an answer may have no end.
    public mutating func finish() -> [UInt8]? {
        defer { line = [] }
        return line.isEmpty ? nil : line
    }
}
