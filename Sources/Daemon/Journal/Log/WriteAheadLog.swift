import CStorage
import Glibc

/// An append-only log of frames, each on the disk when `append` returns, in segments of fixed size that are used again.
///
/// The files are `log-0`, `log-1`, … in the state directory. A new one is filled with zeros in steps, then used again
/// in place, so that a frame costs one write and one fdatasync(2), and the file system commits nothing of its own. Its
/// frames are older than those of the next use, and fail by the number of the segment. [The format](LogFrame.swift)
///
/// There is never more than one frame that is not synced. A segment for which fdatasync(2) failed is sealed: the kernel
/// may have dropped what it could not write, and a second call would not report that. It is read, and removed when its
/// frames are released.
///
/// A log is used from one thread, and one process; every call is synchronous.
package final class WriteAheadLog {
    /// What is known about a file; it may have none.
    private struct Segment {
        var file: (any LogFile)?
        /// The size of the file. All of it was written, with frames or zeros.
        var filled = 0
        /// Frames may be written up to here, which is beyond `filled` in a new file.
        var capacity = 0
        /// Its number; 0 before its first use.
        var number: UInt32 = 0
        /// Where the next frame is written.
        var end = 0
        /// The sequence of its last frame; 0 if it has none.
        var last: UInt64 = 0
        /// From here on the file is known to be zeros.
        var dirty = 0
        /// Whether a sync failed. It is never written again.
        var isSealed = false
    }

    /// Zeros are written in steps of so many bytes.
    package static let step = 256 << 10
    package static let numberOfFiles = 3

    /// The largest payload of a frame, in bytes. One that is larger than a segment has a segment for itself, which is
    /// larger until it is used again.
    package static let largestPayload = (16 << 20) - LogFrame.headerBytes
    private let disk: any LogDisk
    /// The size of a segment.
    package let segmentBytes: Int
    /// By the numbers in the names of their files.
    private var segments: [Segment]
    /// The one that is being written.
    private var active: Int?
    private var isReady = false

    private var salt: UInt32 = 0
    /// Whether the directory had no segment when the log was opened.
    let isNew: Bool
    /// The highest number of a segment.
    private var number: UInt32 = 0
    /// The checksum of the last frame.
    private var previous: UInt32 = 0
    /// The sequence of the last frame that is on the disk; 0 if there was none.
    package private(set) var lastSequence: UInt64 = 0
    private var released: UInt64 = 0
    /// Whether the disk was full when a file was to become larger.
    private var cannotGrow = false

    private var buffer: [UInt8] = []
    private var syncTimes: [UInt64] = []
    private var nextSyncTime = 0

    /// Opens the segments, or makes the first one. Their frames are read by `replay` before the first `append`.
    ///
    /// - Parameters:
    ///   - segmentBytes: the size of a segment. A file of another size keeps it until it is used again.
    ///   - segments: how many files there are at most.
    package init(
        on disk: any LogDisk, segmentBytes: Int = 4 << 20, segments: Int = numberOfFiles
    ) throws(JournalError) {
        self.disk = disk
        self.segmentBytes = min(max(segmentBytes & ~7, 64), LogReader.largestSegment)
        var found: [Segment] = []
        for slot in 0..<segments {
            found.append(Segment(file: try disk.open(Self.name(slot), .writing)))
        }
        self.segments = found
        isNew = found.allSatisfy { $0.file == nil }
        guard isNew else { return }
        // On a full disk the first frame finds out, or makes it.
        do throws(JournalError) { try createSegment(0) } catch .diskFull {}
    }

    static func name(_ slot: Int) -> String { "log-\(slot)" }

    deinit { close() }

    /// Closes the files. The log cannot be used any more.
    package func close() {
        isReady = false
        for segment in segments { segment.file?.close() }
        segments = []
        active = nil
    }

    // MARK: Reading

    /// Reads the frames with a sequence above `applied`, in order; then the log is ready for `append`. Syncs all
    /// segments first, so that what is delivered is on the disk. Reading twice gives the same.
    ///
    /// - Parameters:
    ///   - applied: the last sequence that is in the index, and synced there; 0 if there is none. New frames have
    ///     higher ones.
    ///   - known: the last sequence that this process knows to be on the disk; a later frame was refused,
    ///     and the next one counts in its place. `nil`: this process has written none.
    /// - Throws: what `body` throws, and what reading throws. Then nothing can be appended, and it may be called again.
    package func replay(
        after applied: UInt64, known: UInt64? = nil,
        _ body: (_ sequence: UInt64, _ payload: ArraySlice<UInt8>) throws(JournalError) -> Void
    ) throws(JournalError) -> Replay {
        isReady = false
        for index in segments.indices {
            do throws(JournalError) { try segments[index].file?.sync() } catch { segments[index].isSealed = true }
        }
        try disk.syncDirectory()
        let reader = try LogReader(files)
        let last = try repairLastFrame(of: reader, after: applied, known: known)
        released = applied
        let replay = try reader.replay(after: applied) { sequence, payload throws(JournalError) in
            guard sequence <= known ?? .max else { return }
            try body(sequence, payload)
        }
        try takeOver(reader)
        lastSequence = max(applied, reader.segments.compactMap(\.last?.sequence).max() ?? 0)
        isReady = true
        switch last {
        case .refused(let frame):
            (lastSequence, previous) = (frame.sequence - 1, frame.previous)
            return replay
        case .rewritten(let frame, let payload):
            guard let slot = reader.newestSlot, segments[slot].isSealed else { break }
            (lastSequence, previous) = (frame.sequence - 1, frame.previous)
            do throws(JournalError) { _ = try append(payload) } catch {
                isReady = false
                throw error
            }
        case .applied: break
        }
        removeUseless()
        return replay
    }

    /// The last frame of the log. The process that wrote it may have ended before its sync.
    private enum LastFrame {
        /// There is none, or the index has it.
        case applied
        /// This process has refused it: it is left out, and the next frame gets its sequence.
        case refused(LogFrame)
        /// It is written and synced once more, unless its segment is sealed: then its payload goes into another one.
        case rewritten(LogFrame, payload: [UInt8])
    }

    private func repairLastFrame(
        of reader: LogReader, after applied: UInt64, known: UInt64?
    ) throws(JournalError) -> LastFrame {
        guard let frame = reader.last, let slot = reader.newestSlot, frame.sequence > applied else { return .applied }
        guard frame.sequence <= known ?? .max else {
            segments[slot].isSealed = true
            return .refused(frame)
        }
        return .rewritten(frame, payload: try writeAgain(frame, in: slot))
    }

    /// Writes the last frame once more, in its place. If an earlier process could not sync it, the kernel may take it
    /// for written, and only what is newly written is synced. All frames before it were synced before it was written.
    ///
    /// - Returns: its payload. If its segment is sealed then, the frame has to go to another one.
    private func writeAgain(_ frame: LogFrame, in slot: Int) throws(JournalError) -> [UInt8] {
        guard let file = segments[slot].file else { return [] }
        var bytes = [UInt8](repeating: 0, count: frame.payload.upperBound - frame.offset)
        let count = try bytes.withUnsafeMutableBufferPointer { bytes throws(JournalError) in
            try file.read(into: UnsafeMutableRawBufferPointer(bytes), at: frame.offset)
        }
        guard count == bytes.count else { throw .inputOutput }
        segments[slot].filled = max(segments[slot].filled, frame.payload.upperBound)
        do throws(JournalError) {
            guard !segments[slot].isSealed else { return Array(bytes.dropFirst(LogFrame.headerBytes)) }
            try write(bytes, at: frame.offset, to: slot)
            try sync(slot)
        } catch .diskFull {
            // A file system may write everything to a new place. The segment was synced before.
        } catch {
            seal(slot)
        }
        return Array(bytes.dropFirst(LogFrame.headerBytes))
    }

    private var files: [(slot: Int, file: any LogFile)] {
        segments.enumerated().compactMap { slot, segment in segment.file.map { (slot, $0) } }
    }

    private func takeOver(_ reader: LogReader) throws(JournalError) {
        for found in reader.segments {
            // The file may be larger than what was read of it.
            let size = try segments[found.slot].file?.size() ?? 0
            segments[found.slot].filled = size
            segments[found.slot].dirty = size
            segments[found.slot].capacity = max(segmentBytes, min(size, LogReader.largestSegment))
            segments[found.slot].number = found.last?.segment ?? 0
            segments[found.slot].end = found.last?.end ?? 0
            segments[found.slot].last = found.last?.sequence ?? 0
            if found.isUnreadable { segments[found.slot].isSealed = true }
        }
        salt = reader.salt ?? disk.random()
        previous = reader.last?.checksum ?? 0
        // Only the first segment of a log has the number 1, also after `erase`.
        number = max(segments.map(\.number).max() ?? 0, released > 0 ? 1 : 0)
        // What is broken is left alone.
        active = reader.newestSlot.flatMap { reader.brokenEnd > 0 || segments[$0].isSealed ? nil : $0 }
    }
}

extension WriteAheadLog {
    // MARK: Writing

    /// Writes a frame, and returns its sequence when it is on the disk.
    ///
    /// - Throws: `.diskFull` if all segments are full of frames that are not released and no other can be made, or what
    ///   the disk said when it could not write or sync. If syncing failed, or there was an input/output error, the
    ///   segment is sealed. The next frame has the sequence of the refused one, and counts in its place when both are
    ///   found.
    package func append(_ payload: [UInt8]) throws(JournalError) -> UInt64 {
        guard isReady else { throw .other("the log was not read before it was to be written") }
        guard payload.count <= Self.largestPayload else {
            throw .other(
                "a frame of the log must have at most \(Self.largestPayload) bytes; this one has \(payload.count)")
        }
        let size = LogFrame.size(ofPayload: payload.count)
        let couldGrow = !cannotGrow
        let slot = try segment(for: size)
        do throws(JournalError) { return try append(payload, to: slot) } catch {
            // Another segment may be there in its full size.
            guard couldGrow, cannotGrow, active == slot else { throw error }
        }
        return try append(payload, to: segment(for: size))
    }

    private func append(_ payload: [UInt8], to slot: Int) throws(JournalError) -> UInt64 {
        let sequence = lastSequence &+ 1
        let checksum = payload.withUnsafeBytes { payload in
            LogFrame.write(
                payload, previous: previous, salt: salt, segment: segments[slot].number, sequence: sequence,
                to: &buffer)
        }
        let size = buffer.count
        let start = segments[slot].end
        let isGrowing = start + size > segments[slot].filled
        try write(buffer, at: start, to: slot)
        if size > Self.step { buffer = [] }
        // Further frames find their place made, and the file system writes its size once for all.
        if isGrowing { try? fill(slot, isSynced: false) }
        do throws(JournalError) { try sync(slot) } catch {
            // After kill(2) what was refused is not found, and after a power cut the next frame counts.
            let zeros = [UInt8](repeating: 0, count: LogFrame.headerBytes)
            try? zeros.withUnsafeBytes { try segments[slot].file?.write($0, at: start) }
            removeUseless()
            throw error
        }
        segments[slot].end = start + size
        segments[slot].last = sequence
        segments[slot].capacity = max(segments[slot].capacity, start + size)
        lastSequence = sequence
        previous = checksum
        return sequence
    }

    /// The segment that takes the next frame, of so many bytes.
    private func segment(for size: Int) throws(JournalError) -> Int {
        if let active, fits(size, active), !cannotGrow || isFilled(size, active) { return active }
        let free = free.max { segments[$0].filled < segments[$1].filled }
        if let free, !cannotGrow || segments[free].filled >= size { return use(free) }
        // Perhaps the disk has space again.
        if let active, fits(size, active) { return active }
        if let free { return use(free) }
        if let active, isReleased(active) { return use(active) }
        // One that could not be removed before.
        removeUseless()
        guard let missing = segments.firstIndex(where: { $0.file == nil }) else {
            throw segments.contains { $0.isSealed } ? .inputOutput : .diskFull
        }
        try createSegment(missing)
        return use(missing)
    }

    private func fits(_ size: Int, _ slot: Int) -> Bool {
        segments[slot].end == 0 || segments[slot].end + size <= segments[slot].capacity
    }

    private func isFilled(_ size: Int, _ slot: Int) -> Bool { segments[slot].end + size <= segments[slot].filled }

    /// Segments that hold nothing that is needed.
    private var free: [Int] {
        segments.indices.filter { $0 != active && isReleased($0) && !segments[$0].isSealed }
    }

    private func isReleased(_ slot: Int) -> Bool { segments[slot].file != nil && segments[slot].last <= released }

    /// Begins a free segment.
    private func use(_ slot: Int) -> Int {
        number &+= 1
        segments[slot].number = number
        segments[slot].end = 0
        segments[slot].last = 0
        if segments[slot].filled > segmentBytes, (try? segments[slot].file?.truncate(to: segmentBytes)) != nil {
            segments[slot].filled = segmentBytes
            segments[slot].dirty = min(segments[slot].dirty, segmentBytes)
        }
        segments[slot].capacity = max(segmentBytes, segments[slot].filled)
        active = slot
        return slot
    }

    private func createSegment(_ slot: Int) throws(JournalError) {
        guard let file = try disk.open(Self.name(slot), .making) else { throw .inputOutput }
        do throws(JournalError) { try disk.syncDirectory() } catch {
            file.close()
            try? disk.remove(Self.name(slot))
            throw error
        }
        segments[slot] = Segment(file: file, capacity: segmentBytes)
    }

    /// Writes to a segment, and seals it after an input/output error.
    private func write(_ bytes: [UInt8], at offset: Int, to slot: Int) throws(JournalError) {
        let end = offset + bytes.count
        segments[slot].dirty = max(segments[slot].dirty, end)
        do throws(JournalError) {
            try bytes.withUnsafeBufferPointer { bytes throws(JournalError) in
                try segments[slot].file?.write(UnsafeRawBufferPointer(bytes), at: offset)
            }
        } catch {
            // Parts of it may have been written, and the next try writes them again.
            switch error {
            case .diskFull, .fileTooLarge: cannotGrow = cannotGrow || end > segments[slot].filled
            default: seal(slot)
            }
            throw error
        }
        guard end > segments[slot].filled else { return }
        segments[slot].filled = end
        cannotGrow = false
    }

    /// Syncs a segment, and seals it if that fails.
    private func sync(_ slot: Int) throws(JournalError) {
        let start = Self.now
        do throws(JournalError) { try segments[slot].file?.sync() } catch {
            seal(slot)
            throw error
        }
        let time = Self.now &- start
        if syncTimes.count < 64 { syncTimes.append(time) } else { syncTimes[nextSyncTime] = time }
        nextSyncTime = (nextSyncTime + 1) % 64
    }

    private func seal(_ slot: Int) {
        segments[slot].isSealed = true
        if active == slot { active = nil }
    }

    /// Nanoseconds.
    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// The median time that the last 64 syncs took; `nil` before the first one.
    package var syncTime: Duration? {
        syncTimes.isEmpty ? nil : .nanoseconds(Int64(clamping: syncTimes.sorted()[syncTimes.count / 2]))
    }

    // MARK: Space

    /// What is in frames up to this sequence is in the index, and synced there. Segments without later frames become
    /// free.
    package func release(through sequence: UInt64) {
        released = max(released, min(sequence, lastSequence))
        removeUseless()
    }

    /// Removes the files that hold nothing that is needed and are not used again.
    private func removeUseless() {
        for slot in segments.indices where segments[slot].isSealed && isReleased(slot) { remove(slot) }
    }

    private func remove(_ slot: Int) {
        // A file that cannot be removed is tried again.
        guard (try? disk.remove(Self.name(slot))) != nil else { return }
        segments[slot].file?.close()
        segments[slot] = Segment()
    }

    /// The last sequence of the oldest segment that is full and not released: what the index has to be filled up to, so
    /// that a segment becomes free. `nil` if there is none.
    package var oldestFull: UInt64? {
        segments.indices.filter { $0 != active && segments[$0].last > released }.map { segments[$0].last }.min()
    }

    /// Whether there is no free segment left, and none that could be made.
    package var isCrowded: Bool {
        free.isEmpty && !(active.map(isReleased) ?? false)
            && (cannotGrow || segments.allSatisfy { $0.file != nil })
    }

    /// Bytes that can still be appended without releasing a segment, headers included. Segments that do not exist yet
    /// do not count, and while the disk is full, neither does what is not written of the others.
    package var room: Int {
        (free + (active.map { [$0] } ?? [])).reduce(0) { sum, slot in
            let segment = segments[slot]
            let capacity = slot == active ? segment.capacity : segmentBytes
            return sum
                + max(0, (cannotGrow ? min(capacity, segment.filled) : capacity) - (slot == active ? segment.end : 0))
        }
    }

    /// Whether there is a free segment besides the one that is being written, or the next frame makes use of.
    package var hasSpare: Bool { free.count > (active == nil ? 1 : 0) }

    /// Deletes a free segment, so that the index has its space on a full disk. `prepare` makes it again.
    ///
    /// - Returns: whether there was one.
    package func releaseSpare() -> Bool {
        guard hasSpare, let slot = free.max(by: { segments[$0].filled < segments[$1].filled }) else { return false }
        remove(slot)
        return segments[slot].file == nil
    }

    /// Whether all files still have their names.
    package var isInPlace: Bool { files.allSatisfy { disk.isInPlace($0.file, as: Self.name($0.slot)) } }

    /// Writes zeros ahead of the frames, or to the next segment, at most 256 KiB of them. For moments when nobody
    /// waits.
    ///
    /// - Returns: whether there is more to do. A full disk is tried again by the next call.
    package func prepare() -> Bool {
        guard isReady, let slot = unprepared else { return false }
        do {
            if segments[slot].file == nil { try createSegment(slot) }
            try fill(slot, isSynced: true)
        } catch {
            removeUseless()
            return false
        }
        return unprepared != nil
    }

    /// The segment that needs zeros next.
    private var unprepared: Int? {
        // One free segment is kept for when the disk is full.
        let ahead = 2 * Self.step
        if let active {
            let segment = segments[active]
            if segment.filled < min(segment.capacity, segment.end + ahead) { return active }
        }
        if let spare = free.max(by: { segments[$0].filled < segments[$1].filled }) {
            return segments[spare].filled < (active == nil ? min(ahead, segmentBytes) : segmentBytes) ? spare : nil
        }
        return segments.firstIndex { $0.file == nil }
    }

    /// Writes the next zeros of a segment.
    private func fill(_ slot: Int, isSynced: Bool) throws(JournalError) {
        let start = segments[slot].filled
        let size = min(Self.step, max(segments[slot].capacity, segmentBytes) - start)
        guard size > 0 else { return }
        let dirty = segments[slot].dirty
        defer { segments[slot].dirty = dirty }
        try write([UInt8](repeating: 0, count: size), at: start, to: slot)
        if isSynced { try sync(slot) }
    }

    /// Releases all frames, and leaves nothing of them in any file when it returns. What is in them must be in the
    /// index, and synced there.
    ///
    /// - Throws: what the disk said. Some of it may be left then; it may be called again.
    package func erase() throws(JournalError) {
        guard isReady else { throw .other("the log was not read before it was to be erased") }
        release(through: lastSequence)
        active = nil
        let zeros = [UInt8](repeating: 0, count: min(Self.step, segments.map(\.dirty).max() ?? 0))
        for slot in segments.indices {
            guard let file = segments[slot].file else { continue }
            // On a full disk a frame may not have been written as far as that.
            segments[slot].dirty = min(segments[slot].dirty, try file.size())
            while segments[slot].dirty > 0 {
                let start = max(0, segments[slot].dirty - zeros.count)
                try write(Array(zeros.prefix(segments[slot].dirty - start)), at: start, to: slot)
                segments[slot].dirty = start
            }
            try sync(slot)
        }
        removeUseless()
        // A file that was removed does not come back.
        try disk.syncDirectory()
    }
}
