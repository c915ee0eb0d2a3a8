import NotifyTestSupport
import Testing

@testable import Journal

/// Twenty frames, on a disk that has nothing else, or what is left of an earlier use.
private struct LogScript {
    static let frames = 20
    let disk: MadeUpDisk
    /// The last sequence before the script.
    let applied: UInt64
    let expected: [LoggedFrame]
    /// Where each frame begins, and where the last one ends.
    let starts: [Int]
    let ends: [Int]

    /// - Parameter isRecycled: whether the file was full of frames before.
    init(isRecycled: Bool, seed: UInt64 = 7) throws {
        disk = MadeUpDisk(seed: seed)
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 4096, segments: 1)
        if isRecycled {
            try Self.fill(log)
            log.release(through: log.lastSequence)
        }
        applied = log.lastSequence
        var expected: [LoggedFrame] = []
        var starts = [0]
        var ends: [Int] = []
        for index in 0..<Self.frames {
            let payload = logPayload(index, bytes: index == 19 ? 77 : index * 37 % 41)
            expected.append(LoggedFrame(sequence: try log.append(payload), payload: payload))
            ends.append(starts[index] + 32 + payload.count)
            starts.append(starts[index] + LogFrame.size(ofPayload: payload.count))
        }
        (self.expected, self.starts, self.ends) = (expected, starts, ends)
        try #require(disk.files == ["log-0"])
    }

    /// Reads the log from a changed file, appends, and reads again.
    ///
    /// - Parameter isTorn: `nil` if it may be either.
    func check(
        _ file: [UInt8], holds frames: [LoggedFrame], isTorn: Bool?, damaged: Int = 0, _ what: @autoclosure () -> String
    ) throws {
        let changed = MadeUpDisk(seed: 8)
        changed["log-0"] = file
        let log = try WriteAheadLog(on: changed, segmentBytes: 4096)
        let (found, replay) = try log.frames(after: applied)
        let next = LoggedFrame(sequence: (frames.last?.sequence ?? applied) + 1, payload: [1, 2, 3])
        let sequence = try log.append(next.payload)
        let (later, laterReplay) = try WriteAheadLog(on: changed, segmentBytes: 4096).frames(after: applied)
        // What is torn is left alone.
        let isLeft = changed["log-1"] != nil
        guard found == frames, isTorn == nil || isLeft == isTorn, replay.damaged == damaged, sequence == next.sequence,
            later == frames + [next], laterReplay.damaged == damaged
        else {
            Issue.record("\(what()): \(found), \(replay), \(sequence), then \(later), \(laterReplay)")
            return
        }
    }
}

/// Whatever happens to the bytes of a log: what is read was written, and what is lost is told.
struct LogDamageTests {
    enum Rest: CaseIterable {
        case nothing, zeros, ones, oldFrames
    }

    @Test(arguments: Rest.allCases) func aLogThatIsCutAtAnyByteHasTheFramesBeforeTheCut(_ rest: Rest) throws {
        let script = try LogScript(isRecycled: rest == .oldFrames)
        let whole = try #require(script.disk["log-0"])
        let old = try #require(try LogScript.recycledFile())
        for cut in 0...script.starts[LogScript.frames] {
            var file = Array(whole[..<cut])
            switch rest {
            case .nothing: break
            case .zeros: file += [UInt8](repeating: 0, count: whole.count - cut)
            case .ones: file += [UInt8](repeating: 0xff, count: whole.count - cut)
            case .oldFrames: file += old[cut...]
            }
            // What comes behind the cut may be the same as before.
            func isSame(_ part: Range<Int>) -> Bool { file.count >= part.upperBound && file[part] == whole[part] }
            let count = (0..<20).first { !isSame(script.starts[$0]..<script.ends[$0]) } ?? 20
            let start = script.starts[count]
            // A header that is there in full tells that there was a frame.
            let isTorn: Bool? = cut <= start ? false : isSame(start..<start + 32) ? true : nil
            try script.check(file, holds: Array(script.expected[..<count]), isTorn: isTorn, "cut at \(cut)")
        }
    }

    @Test(arguments: [false, true]) func everyFlippedBitIsNoticed(recycled isRecycled: Bool) throws {
        let script = try LogScript(isRecycled: isRecycled)
        let whole = try #require(script.disk["log-0"])
        var random = SplitMix64(seed: 3)
        for index in 0..<LogScript.frames {
            for offset in script.starts[index]..<script.starts[index + 1] {
                let isHeader = offset < script.starts[index] + 32
                for bit in isHeader ? Array(0..<8) : [Int.random(in: 0..<8, using: &random)] {
                    var file = whole
                    file[offset] ^= 1 << UInt8(bit)
                    var frames = script.expected
                    let isLost = offset < script.ends[index]
                    if isLost { frames.remove(at: index) }
                    let isLast = index == LogScript.frames - 1
                    try script.check(
                        file, holds: frames, isTorn: isLost && isLast, damaged: isLost && !isLast ? 1 : 0,
                        "bit \(bit) of byte \(offset), frame \(index)")
                }
            }
        }
    }

    /// Each subset of the sectors of the last write, where zeros were and where old frames were.
    @Test(arguments: [false, true]) func aTornFrameIsWholeOrNotThere(recycled isRecycled: Bool) throws {
        for size in [1, 450, 1800] {
            var subset = 0
            var count = 1
            while subset < count {
                let script = try LogScript(isRecycled: isRecycled)
                let log = try WriteAheadLog(on: script.disk, segmentBytes: 4096, segments: 1)
                _ = try log.frames(after: script.applied)
                script.disk.lastCall = script.disk.calls + 2
                let payload = logPayload(500, bytes: size)
                #expect(throws: JournalError.inputOutput) { try log.append(payload) }
                count = 1 << script.disk.unsynced
                try #require(count > 1 && count <= 64)
                script.disk.cutPower { subset & 1 << $0 != 0 }
                let frames =
                    subset == count - 1
                    ? script.expected + [LoggedFrame(sequence: script.applied + 21, payload: payload)] : script.expected
                try script.check(script.disk["log-0"] ?? [], holds: frames, isTorn: nil, "\(size): subset \(subset)")
                subset += 1
            }
        }
    }

    /// The file had frames of the same sizes in each use; those of any earlier one may stand behind the new ones.
    @Test func oldFramesOfAnyUseAreNotRead() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 1024, segments: 1)
        var files: [[UInt8]] = []
        for round in 0..<6 {
            for number in 0..<8 { _ = try log.append(logPayload(round * 8 + number, bytes: 90 + number % 7)) }
            log.release(through: log.lastSequence)
            files.append(try #require(disk["log-0"]))
        }
        for new in files.indices {
            for old in 0..<new {
                for count in 0...8 {
                    let copy = MadeUpDisk()
                    copy["log-0"] = Array(files[new][..<(count * 128)] + files[old][(count * 128)...])
                    let first = UInt64((count == 0 ? old : new) * 8)
                    let expected = (0..<(count == 0 ? 8 : count)).map { index in
                        let number = Int(first) + index
                        return LoggedFrame(
                            sequence: UInt64(number + 1), payload: logPayload(number, bytes: 90 + number % 8 % 7))
                    }
                    // An index that has less reads no more.
                    for applied in [0, first] {
                        let (frames, replay) = try WriteAheadLog(on: copy, segmentBytes: 1024).frames(after: applied)
                        #expect(frames == expected && replay.damaged == 0)
                    }
                    let (frames, replay) = try WriteAheadLog(on: copy).frames(after: UInt64(new * 8))
                    #expect(frames == (count == 0 ? [] : expected) && replay.damaged == 0)
                }
            }
        }
    }

    /// A flipped bit where several segments are.
    @Test func damageInAnySegmentIsNoticed() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 512)
        log.release(through: try log.append([0]))
        for number in 2...34 {
            if number == 22 { log.release(through: 14) }
            _ = try log.append(logPayload(number, bytes: 40))
        }
        #expect(disk.files.count == 3)
        let all = try WriteAheadLog(on: disk).frames(after: 14)
        #expect(all.frames.map(\.sequence) == Array(15...34) && all.replay.damaged == 0)
        for name in disk.files {
            let whole = try #require(disk[name])
            for bit in 0..<whole.count * 8 where bit % 3 == 0 {
                let copy = disk.copy()
                copy[name]?[bit / 8] ^= 1 << UInt8(bit % 8)
                let (frames, replay) = try WriteAheadLog(on: copy).frames(after: 14)
                let lost = all.frames.filter { !frames.contains($0) }
                let isTold = replay.damaged == lost.count || lost.map(\.sequence) == [34] && replay.damaged == 0
                guard frames == all.frames.filter({ !lost.contains($0) }), lost.count <= 1, isTold else {
                    Issue.record("bit \(bit) of \(name): \(frames), \(replay)")
                    return
                }
            }
        }
    }

    @Test func ofSeveralBrokenFramesAtTheEndOnlyTheLastIsTakenForTorn() throws {
        let script = try LogScript(isRecycled: false)
        var file = try #require(script.disk["log-0"])
        for index in 17..<20 { file[script.starts[index] + 40] ^= 1 }
        let disk = MadeUpDisk()
        disk["log-0"] = file
        let (frames, replay) = try WriteAheadLog(on: disk).frames()
        #expect(frames == Array(script.expected[..<17]))
        #expect(replay == WriteAheadLog.Replay(frames: 17, damaged: 2, last: 17))
    }

    /// A sender cannot put frames into a payload, even if the frame around them is damaged.
    @Test func framesInAPayloadAreNotRead() throws {
        var forged: [UInt8] = []
        for (salt, segment) in [(0 as UInt32, 2 as UInt32), (77, .max), (.max, 1)] {
            for sequence in [2, 3, 4, .max] as [UInt64] {
                var frame: [UInt8] = []
                _ = [UInt8]("forged".utf8).withUnsafeBytes { payload in
                    LogFrame.write(
                        payload, previous: 0, salt: salt, segment: segment, sequence: sequence, to: &frame)
                }
                forged += frame
            }
        }
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk)
        _ = try log.append([1])
        _ = try log.append(forged)
        for isLast in [true, false] {
            if !isLast { _ = try log.append([3]) }
            for offset in 40..<72 {
                let copy = disk.copy()
                copy["log-0"]?[offset] ^= 4
                let (frames, replay) = try WriteAheadLog(on: copy).frames()
                #expect(frames.map(\.payload) == (isLast ? [[1]] : [[1], [3]]))
                #expect(replay.damaged == (isLast ? 0 : 1))
            }
        }
        // In what is left of an earlier use, there may be no header in front of them.
        log.release(through: 3)
        for _ in 0..<40 { log.release(through: try log.append(logPayload(1, bytes: 100))) }
        let last = log.lastSequence
        for count in stride(from: 40, through: forged.count, by: 8) {
            let copy = disk.copy()
            for name in copy.files { copy[name]?.replaceSubrange(4096 - count..<4096, with: forged.suffix(count)) }
            let (frames, _) = try WriteAheadLog(on: copy).frames(after: last - 5)
            #expect(frames.map(\.sequence) == Array(last - 4...last))
        }
    }

    @Test func whatCannotBeReadIsToldAndTheRestIsRead() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 20 << 10)
        for number in 1...150 { _ = try log.append(logPayload(number, bytes: 96)) }
        disk.unreadable["log-0"] = [2]
        let again = try WriteAheadLog(on: disk, segmentBytes: 20 << 10)
        let (frames, replay) = try again.frames()
        // 32 frames a page.
        #expect(frames.map(\.sequence) == Array(1...64) + Array(97...150))
        #expect(replay.damaged == 32 && replay.unreadable == 1)
        // The file is not written again, and goes.
        let file = disk["log-0"]
        #expect(try again.append([1]) == 151)
        #expect(disk["log-0"] == file)
        again.release(through: 150)
        #expect(disk.files == ["log-1"])
    }

    @Test func anotherFileIsNotALog() throws {
        var random = SplitMix64(seed: 9)
        for count in [0, 1, 31, 32, 33, 64, 5000] {
            let disk = MadeUpDisk()
            disk["log-0"] = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            disk["log-1"] = [UInt8](repeating: 0xf7, count: count)
            let log = try WriteAheadLog(on: disk)
            #expect(try log.frames(after: 7).frames.isEmpty)
            #expect(try log.append([1]) == 8)
            #expect(try WriteAheadLog(on: disk).frames(after: 7).frames == [LoggedFrame(sequence: 8, payload: [1])])
        }
    }
}

extension LogScript {
    /// The file before the script, full of old frames.
    fileprivate static func recycledFile() throws -> [UInt8]? {
        let disk = MadeUpDisk(seed: 7)
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 4096, segments: 1)
        try fill(log)
        return disk["log-0"]
    }

    private static func fill(_ log: WriteAheadLog) throws {
        var number = 1000
        while log.room >= LogFrame.headerBytes {
            _ = try log.append(logPayload(number, bytes: min(number % 90, log.room - LogFrame.headerBytes)))
            number += 1
        }
    }
}
