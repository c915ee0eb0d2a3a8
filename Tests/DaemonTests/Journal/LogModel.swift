import NotifyTestSupport
import Testing

@testable import Journal

/// What a log on a made-up disk has to hold: an array, and what an index behind it has.
final class LogModel {
    let disk: MadeUpDisk
    private let segmentBytes: Int
    private var log: WriteAheadLog?
    /// What was accepted and is not in the index.
    private(set) var frames: [LoggedFrame] = []
    /// What is in the index.
    private(set) var applied: UInt64 = 0
    /// What was refused since the last accepted frame. A crash may leave one of them behind.
    private var refused: [[UInt8]] = []
    private var number = 0
    private var random: SplitMix64
    /// How often a refused frame was found after a crash.
    private(set) var returned = 0

    init(seed: UInt64, segmentBytes: Int = 1024) throws {
        disk = MadeUpDisk(seed: seed)
        self.segmentBytes = segmentBytes
        random = SplitMix64(seed: seed)
        try open()
    }

    var last: UInt64 { frames.last?.sequence ?? applied }

    /// Does what a daemon could do next. What fails must fail for a reason.
    ///
    /// - Throws: what the log threw.
    func step() throws {
        guard let log else { return try open() }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<13: try append()
        case 13, 14: release(through: .random(in: applied...last, using: &random))
        case 15: release(through: last)
        case 16: while log.prepare() {}
        case 17: _ = log.releaseSpare()
        case 18: if Bool.random(using: &random) { try erase() }
        default: if Bool.random(using: &random) { try restart() }
        }
    }

    func append() throws {
        guard let log else { return }
        number += 1
        let count = Int.random(in: 0..<10, using: &random) == 0 ? 700 : Int.random(in: 0..<150, using: &random)
        let payload = logPayload(number, bytes: count)
        let (room, failures) = (log.room, disk.failures)
        do {
            let sequence = try log.append(payload)
            #expect(sequence == last + 1)
            frames.append(LoggedFrame(sequence: sequence, payload: payload))
            refused = []
        } catch  where disk.failures == failures && disk.calls < disk.lastCall {
            // All segments are full, or sealed. There is always an end of a segment that is too short for the frame.
            #expect(room < 3 * 732 && !frames.isEmpty)
            release(through: last)
        } catch {
            refused.append(payload)
            throw error
        }
        #expect(log.lastSequence == last)
    }

    /// The index is filled.
    func release(through sequence: UInt64) {
        frames.removeAll { $0.sequence <= sequence }
        applied = sequence
        log?.release(through: sequence)
    }

    func erase() throws {
        // The index is filled first, whatever becomes of the log.
        applied = last
        frames = []
        try log?.erase()
        for name in disk.files { #expect(try #require(disk[name]).allSatisfy { $0 == 0 }) }
        #expect(disk.unsynced == 0)
        // What was refused is gone as well.
        refused = []
    }

    /// Ends the process without another word.
    func kill() {
        log = nil
        disk.live()
    }

    func cutPower() {
        log = nil
        let isAll = Int.random(in: 0..<4, using: &random)
        disk.cutPower { _ in isAll == 0 || isAll != 1 && Bool.random(using: &self.random) }
    }

    private func restart() throws {
        log?.close()
        log = nil
        try open()
    }

    /// Reads everything, and compares.
    func open() throws {
        let opened = try WriteAheadLog(on: disk, segmentBytes: segmentBytes)
        let (found, replay) = try opened.frames(after: applied)
        #expect(try opened.frames(after: applied).frames == found)
        #expect(found.starts(with: frames), "\(found) do not begin with \(frames)")
        #expect(replay.damaged == 0 && replay.unreadable == 0)
        let more = found.dropFirst(frames.count)
        if let frame = more.first {
            #expect(more.count == 1 && refused.contains(frame.payload) && frame.sequence == last + 1)
            returned += 1
        }
        frames = found
        refused = []
        log = opened
    }
}
