/// Reads all segments of a log, one at a time, and writes nothing.
///
/// A file holds the frames of its last use, and behind them what is left of earlier uses: the frames with the highest
/// segment number count. Segments follow each other by their numbers. If a sequence is there twice, the frame in the
/// later segment counts: the other was refused, because it could not be synced. A sequence that is missing below a
/// later one is damage, since there is never more than one frame that is not synced. What follows the last frame, and
/// is not intact, was torn.
struct LogReader {
    /// What is in one file.
    struct Segment {
        let slot: Int
        /// Whether parts of the file cannot be read, and were taken for zeros.
        var isUnreadable = false
        /// The frames with the highest segment number.
        var first: LogFrame?
        var last: LogFrame?
        /// Headers of the same segment behind the last intact frame.
        var brokenHeaders = 0
        /// What stands in the place of the frame behind the last.
        var tail: LogFrame?
        /// The salt of the intact frame at the beginning: no payload stands there.
        var salt: UInt32?

        fileprivate mutating func add(_ frame: LogFrame, isIntact: Bool) -> Bool {
            if let last, frame.segment <= last.segment {
                guard frame.segment == last.segment else { return false }
                guard isIntact else {
                    brokenHeaders += 1
                    return false
                }
                guard frame.sequence > last.sequence else { return false }
            } else {
                guard isIntact else { return false }
                first = frame
            }
            last = frame
            brokenHeaders = 0
            return true
        }
    }

    /// A segment is at most as large; what is behind in a file is not read.
    static let largestSegment = 64 << 20

    private let files: [(slot: Int, file: any LogFile)]
    /// In the order of the files.
    private(set) var segments: [Segment] = []
    /// The salt of the log; `nil` if it has no frames.
    private(set) var salt: UInt32?

    init(_ files: [(slot: Int, file: any LogFile)]) throws(JournalError) {
        self.files = files
        for (slot, file) in files { segments.append(try Self.summary(slot, Self.load(file), salt: nil)) }
        // A file of another log may have been copied here. The log is the one with the newest frames.
        let newest = segments.filter { $0.salt != nil }.max { ($0.last?.sequence ?? 0) < ($1.last?.sequence ?? 0) }
        salt = newest?.salt ?? segments.compactMap(\.first).first?.salt
        guard let salt else { return }
        for index in segments.indices where segments[index].salt != salt && segments[index].first != nil {
            segments[index] = try Self.summary(segments[index].slot, Self.load(files[index].file), salt: salt)
        }
    }

    private static func load(_ file: any LogFile) throws(JournalError) -> (bytes: [UInt8], isUnreadable: Bool) {
        let size = min(try file.size(), largestSegment)
        var bytes = [UInt8](repeating: 0, count: size)
        var isUnreadable = false
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(JournalError) in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            do throws(JournalError) { return try file.read(into: buffer, at: 0) } catch .inputOutput {}
            for start in stride(from: 0, to: size, by: 4096) {
                let page = UnsafeMutableRawBufferPointer(rebasing: buffer[start..<min(size, start + 4096)])
                do throws(JournalError) { _ = try file.read(into: page, at: start) } catch .inputOutput {
                    isUnreadable = true
                    page.initializeMemory(as: UInt8.self, repeating: 0)
                }
            }
            return size
        }
        if count < size { bytes.removeLast(size - count) }
        return (bytes, isUnreadable)
    }

    private static func summary(
        _ slot: Int, _ loaded: (bytes: [UInt8], isUnreadable: Bool), salt: UInt32?
    ) -> Segment {
        var segment = Segment(slot: slot, isUnreadable: loaded.isUnreadable)
        var reader = LogFrameReader(loaded.bytes, salt: salt)
        while let (frame, isIntact) = reader.next() {
            if frame.offset == 0, isIntact, segment.salt == nil {
                segment.salt = frame.salt
                // From here on nothing else is looked at.
                reader = LogFrameReader(loaded.bytes, salt: frame.salt)
                continue
            }
            _ = segment.add(frame, isIntact: isIntact)
        }
        segment.tail = segment.last.flatMap { reader.header(at: $0.end) }
        return segment
    }

    /// The segments that have frames, in the order of their numbers.
    private var ordered: [(segment: Segment, first: LogFrame, last: LogFrame)] {
        segments.compactMap { segment in
            guard let first = segment.first, let last = segment.last else { return nil }
            return (segment, first, last)
        }.sorted { $0.last.segment < $1.last.segment }
    }

    /// The last frame of the log.
    var last: LogFrame? { ordered.last?.last }
    /// The file with the last frame.
    var newestSlot: Int? { ordered.last?.segment.slot }

    /// Delivers the frames with a sequence above `applied`, in order.
    func replay(
        after applied: UInt64, _ body: (UInt64, ArraySlice<UInt8>) throws(JournalError) -> Void
    ) throws(JournalError) -> WriteAheadLog.Replay {
        let ordered = ordered
        var replay = WriteAheadLog.Replay(last: applied)
        // The index was made again, and what came before was released.
        if applied == 0, let oldest = ordered.first, oldest.last.segment > 1, oldest.first.sequence > 1 {
            replay.last = oldest.first.sequence - 1
            replay.isBehind = true
        }
        for (index, (segment, first, last)) in ordered.enumerated() where last.sequence > applied {
            let later = ordered[(index + 1)...]
            let bound = later.map(\.first.sequence).min() ?? .max
            guard first.sequence < bound else { continue }
            guard let file = files.first(where: { $0.slot == segment.slot })?.file else { continue }
            var found = Segment(slot: segment.slot)
            var reader = LogFrameReader(try Self.load(file).bytes, salt: salt)
            while let (frame, isIntact) = reader.next() {
                guard isIntact, frame.segment == last.segment, found.add(frame, isIntact: true),
                    frame.sequence > replay.last, frame.sequence < bound
                else { continue }
                // The next segment begins with the successor of another frame: this one was refused.
                if let next = later.first?.first, next.sequence == frame.sequence &+ 1, next.previous != 0,
                    next.previous != frame.checksum
                {
                    continue
                }
                replay.damaged = Int(clamping: UInt64(replay.damaged) + (frame.sequence - replay.last - 1))
                replay.last = frame.sequence
                replay.frames += 1
                try body(frame.sequence, reader.bytes[frame.payload])
            }
        }
        // One broken frame at the end was torn; only further ones are damage.
        replay.damaged = Int(clamping: UInt64(replay.damaged) + UInt64(max(1, brokenEnd) - 1))
        replay.unreadable = segments.count { $0.isUnreadable }
        return replay
    }

    /// The number of headers behind the last frame, in its segment, that belong to no intact frame.
    ///
    /// A header that says what the next frame would say in one of its numbers was one: any bit of the others may be
    /// wrong.
    var brokenEnd: Int {
        guard let newest = ordered.last else { return 0 }
        let isTail = newest.segment.tail.map { tail in
            tail.sequence == newest.last.sequence &+ 1
                || newest.last.checksum != 0 && newest.last.checksum == tail.previous
                || tail.salt == salt && tail.segment == newest.last.segment
        }
        return max(newest.segment.brokenHeaders, isTail ?? false ? 1 : 0)
    }
}

extension WriteAheadLog {
    /// What `replay` found.
    package struct Replay: Equatable {
        /// The frames that were delivered.
        package var frames = 0
        /// Whether nothing was applied, and frames before the first one were released.
        package var isBehind = false
        /// Frames that are missing between `applied` and the last frame: they were on the disk, and are damaged. A
        /// broken frame behind the last one does not count: it was being written when the power went, or was damaged
        /// later; nobody can tell.
        package var damaged = 0
        /// Files of which parts could not be read.
        package var unreadable = 0
        /// The sequence of the last frame that was delivered, or `applied`.
        package var last: UInt64
    }

    /// Reads the frames of a log that cannot be written, as `replay` does. Nothing is written, and nothing synced.
    package static func read(
        on disk: any LogDisk, after applied: UInt64,
        _ body: (_ sequence: UInt64, _ payload: ArraySlice<UInt8>) throws(JournalError) -> Void
    ) throws(JournalError) -> Replay {
        var files: [(slot: Int, file: any LogFile)] = []
        defer { for (_, file) in files { file.close() } }
        for slot in 0..<numberOfFiles {
            if let file = try disk.open(name(slot), .reading) { files.append((slot, file)) }
        }
        return try LogReader(files).replay(after: applied, body)
    }
}
