/// Splits a stream of bytes into lines, however they were cut on the way. A line that is too long to be a message is
/// passed over and counted, and its beginning is told: whoever may publish can make one, and what comes after it is
/// still wanted. One that does not end at all ends the stream.
///
/// What was appended is split piece by piece, so that others have their turn between two pieces.
public struct LineReader: Sendable {
    /// Some lines, and what was read for them.
    public struct Piece: Equatable, Sendable {
        /// Lines without their ends.
        public var lines: [[UInt8]]
        /// The beginnings of lines that were too long.
        public var beginnings: [[UInt8]] = []
        /// Lines that were empty, so that they are no messages.
        public var empty = 0
        /// Lines that have ended, also empty ones and those that were too long.
        public var ends = 0
        public var bytes = 0

        public init(lines: [[UInt8]] = []) { self.lines = lines }
    }

    /// A message of 4 KiB in which every byte is escaped takes 24 KiB, and a server may be set to larger ones.
    public static let maximumBytes = 64 << 10
    /// No publisher can make a longer line: the head of a request that ntfy takes has 1 MiB, and each byte becomes six
    /// at most.
    public static let endlessBytes = 8 << 20
    /// So much is told of a line that is too long. The id of a message is its first member, so two such lines differ in
    /// it.
    public static let beginningBytes = 1024
    /// A piece has at most so many lines, and at most so many bytes are read for it.
    public static let linesOfPiece = 32
    public static let bytesOfPiece = 64 << 10

    private let limit: Int
    private let endless: Int
    /// What was appended and is not split.
    private var rest: ArraySlice<UInt8> = []
    private var line: [UInt8] = []
    /// The bytes of the line that is passed over; 0 if none is.
    private var skipped = 0
    /// Lines that were too long.
    public private(set) var dropped = 0
    /// Whether a line has no end. Then nothing more is read.
    public private(set) var isEndless = false

    public init(limit: Int = Self.maximumBytes, endless: Int = Self.endlessBytes) {
        self.limit = limit
        self.endless = endless
    }

    /// Takes bytes in. ``next()`` splits them.
    public mutating func append(_ bytes: [UInt8]) { rest = rest.isEmpty ? bytes[...] : rest + bytes }

    /// - Returns: the next piece, also one without a line; `nil` if nothing is left of what was appended.
    public mutating func next() -> Piece? {
        guard !rest.isEmpty, !isEndless else { return nil }
        var piece = Piece()
        var part = rest.prefix(Self.bytesOfPiece)
        while !part.isEmpty, piece.ends < Self.linesOfPiece, !isEndless {
            guard let end = part.firstIndex(of: UInt8(ascii: "\n")) else {
                take(part, &piece)
                part = part[part.endIndex...]
                break
            }
            take(part[..<end], &piece)
            part = part[(end + 1)...]
            piece.ends += 1
            endLine(&piece)
        }
        piece.bytes = part.startIndex - rest.startIndex
        rest = part.startIndex < rest.endIndex ? rest[part.startIndex...] : []
        return piece
    }

    private mutating func endLine(_ piece: inout Piece) {
        defer { skipped = 0 }
        guard skipped == 0 else { return }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if line.isEmpty { piece.empty += 1 } else { piece.lines.append(line) }
        line.removeAll(keepingCapacity: line.capacity <= 4096)
    }

    private mutating func take(_ part: ArraySlice<UInt8>, _ piece: inout Piece) {
        if skipped > 0 {
            skipped += part.count
        } else if line.count + part.count > limit {
            skipped = line.count + part.count
            dropped += 1
            piece.beginnings.append(Array((line.prefix(Self.beginningBytes) + part).prefix(Self.beginningBytes)))
            line = []
        } else {
            line += part
        }
        if skipped > endless { isEndless = true }
    }

    /// The end of the stream: the last line of an answer may have no end.
    public mutating func finish() -> [UInt8]? {
        defer { line = [] }
        return line.isEmpty ? nil : line
    }
}
