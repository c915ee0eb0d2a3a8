import NotifyText

/// Tells what a server of ntfy says from what somebody else says in its place, such as the login page of a hotel's
/// network, which answers every request with 200.
///
/// ntfy answers a publish, a clear and a delete with the message that it has made, and an error with its number;
/// `server/server.go` and
/// `server/errors.go` of ntfy 2.19.
public enum ServerReply {
    /// What is shown of an answer that is none of ntfy.
    private static let maximumShown = 60
    private static let shownMembers = 3

    /// What is wrong with the answer to a request.
    ///
    /// - Parameters:
    ///   - body: the whole answer.
    ///   - type: its `Content-Type`; empty if it has none.
    ///   - event: what the request has asked the server to make.
    ///   - topic: where.
    /// - Returns: a sentence without anything of an event; `nil` if the server has made it.
    public static func mistake(
        in body: [UInt8], type: String, to event: NtfyMessage.Event, of topic: String
    ) -> String? {
        guard let message = try? NtfyMessage(line: body) else {
            return "it answers with something else than ntfy does (\(description(of: body, type: type)))"
        }
        guard message.event == event, message.topic.utf8.elementsEqual(topic.utf8) else {
            return "it answers with another message than the one that it was asked to make"
        }
        return nil
    }

    /// Whether a line is one of ntfy, also of a later version, or one that is not usable in itself.
    public static func isLine(_ line: [UInt8]) -> Bool {
        guard let json = try? JSONParser.parse(line) else { return false }
        return ["id", "event", "topic"].allSatisfy { json[$0]?.string != nil }
    }

    /// Whether the body of a refusal was written by ntfy.
    public static func isError(_ body: [UInt8]) -> Bool {
        guard let json = try? JSONParser.parse(body) else { return false }
        return json["code"]?.integer(as: Int.self) != nil && json["error"]?.string != nil
    }

    /// What an answer is, for people: its type and how it begins. Of JSON only the names of some members are told, for
    /// their values may be those of an event.
    public static func description(of body: [UInt8], type: String) -> String {
        let kind = type.isEmpty ? "no Content-Type" : short(type)
        if body.isEmpty { return "\(kind), empty" }
        if let json = try? JSONParser.parse(body) {
            guard let members = json.members, !members.isEmpty else { return "\(kind), JSON without a message" }
            let names = members.prefix(shownMembers).map { "\"\(short($0.0))\"" }
            return "\(kind), JSON with \(names.joined(separator: ", "))"
        }
        let text = String(decoding: body.prefix(4 * maximumShown), as: UTF8.self)
        return "\(kind), it begins with \"\(short(text))\""
    }

    private static func short(_ text: String) -> String { text.visible().beginning(ofBytes: maximumShown) }
}

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
        /// Lines that were empty, so that they are not messages.
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
    /// So much is kept of a line that is too long. The id of a message is its first member, so two such lines differ in
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
                addToLine(part, &piece)
                part = part[part.endIndex...]
                break
            }
            addToLine(part[..<end], &piece)
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

    private mutating func addToLine(_ part: ArraySlice<UInt8>, _ piece: inout Piece) {
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

/// What is known about the clock of a server. It tells from when on messages are taken, and how far the cursor may go.
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
    public mutating func setTime(_ time: Int64, at now: Duration) { told = (time, now) }

    /// The time of a message as far as the cursor may follow it: not beyond the time that it is at the server.
    ///
    /// - Returns: `nil` while the server has not said its time.
    public func limited(_ time: Int64, at now: Duration) -> Int64? {
        told.map { min(time, $0.time + (now - $0.at).components.seconds + Self.margin) }
    }

}
