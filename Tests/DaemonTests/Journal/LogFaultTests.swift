import NotifyTestSupport
import Testing

@testable import Journal

/// What a log does when the disk fails, the power goes or the process ends.
struct LogFaultTests {
    /// The kernel takes what it could not write for written, and the next sync succeeds.
    @Test(arguments: [false, true]) func aSyncThatSucceedsAfterAnErrorIsNotBelieved(isPowerCut: Bool) throws {
        for kept in 0..<64 {
            let disk = MadeUpDisk()
            let log = try WriteAheadLog.opened(on: disk)
            #expect(try log.append([1]) == 1)
            disk.fault = { $0 == .sync ? .inputOutput : nil }
            #expect(throws: JournalError.inputOutput) { try log.append(logPayload(2, bytes: 1200)) }
            disk.fault = { _ in nil }
            #expect(log.lastSequence == 1)
            let refused = disk["log-0"]
            #expect(try log.append([3]) == 2)
            #expect(try log.append([4]) == 3)
            #expect(disk["log-0"] == refused, "its segment is not written again")
            log.release(through: 1)
            #expect(disk.files == ["log-1"], "it is removed when it is released")
            disk.cutPower { isPowerCut ? kept & 1 << $0 != 0 : true }
            let (frames, replay) = try WriteAheadLog(on: disk).frames(after: 1)
            #expect(frames == [LoggedFrame(sequence: 2, payload: [3]), LoggedFrame(sequence: 3, payload: [4])])
            #expect(replay.damaged == 0)
        }
    }

    /// The disk has a frame that was refused, and the one that took its place is damaged.
    @Test func aRefusedFrameDoesNotComeBackInThePlaceOfADamagedOne() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk)
        _ = try log.append([1])
        _ = try log.append([2])
        let withRefused = try #require(disk["log-0"])
        // As if the second frame had been refused: the next one has its sequence, in another file.
        let other = disk.copy()
        other["log-0"]?.replaceSubrange(40..<80, with: [UInt8](repeating: 0, count: 40))
        other.fault = { _ in nil }
        let second = try WriteAheadLog.opened(on: other)
        other.fault = { $0 == .sync ? .inputOutput : nil }
        #expect(throws: JournalError.inputOutput) { try second.append([2]) }
        other.fault = { _ in nil }
        #expect(try second.append([3]) == 2)
        #expect(try second.append([4]) == 3)
        other["log-0"] = withRefused
        #expect(try WriteAheadLog(on: other).frames().frames.map(\.payload) == [[1], [3], [4]])
        other["log-1"]?[32] ^= 1
        let (frames, replay) = try WriteAheadLog(on: other).frames()
        #expect(frames.map(\.payload) == [[1], [4]])
        #expect(replay.damaged == 1)
    }

    @Test func whatWasRefusedIsGoneAfterAKill() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk)
        _ = try log.append([1])
        disk.fault = { $0 == .sync ? .inputOutput : nil }
        #expect(throws: JournalError.inputOutput) { try log.append([2]) }
        disk.fault = { _ in nil }
        #expect(try WriteAheadLog(on: disk).frames().frames.map(\.payload) == [[1]])
    }

    /// At the start, the earlier frames may not be on the disk.
    @Test func aFileThatCannotBeSyncedAtTheStartIsReadAndNotWritten() throws {
        let disk = MadeUpDisk()
        _ = try WriteAheadLog.opened(on: disk).append([1])
        let log = try WriteAheadLog(on: disk)
        disk.fault = { [unowned disk] in $0 == .sync && disk.failures == 0 ? .inputOutput : nil }
        #expect(try log.frames().frames.map(\.payload) == [[1]])
        #expect(disk["log-1"]?[32] == 1, "its last frame is written once more, elsewhere")
        let file = disk["log-0"]
        #expect(try log.append([2]) == 2)
        #expect(disk["log-0"] == file)
        log.release(through: 1)
        #expect(disk.files == ["log-1"])
    }

    @Test func whenAllFilesAreSealedTheDiskGivesErrors() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk)
        for number in 0..<3 {
            #expect(try log.append([1]) == UInt64(number + 1))
            disk.fault = { $0 == .sync ? .inputOutput : nil }
            #expect(throws: JournalError.inputOutput) { try log.append([2]) }
            disk.fault = { _ in nil }
        }
        #expect(throws: JournalError.inputOutput) { try log.append([2]) }
        #expect(log.room == 0 && log.oldestFull == 1 && log.isCrowded)
        log.release(through: 1)
        #expect(try log.append([1]) == 4)
        #expect(try WriteAheadLog(on: disk).frames(after: 1).frames.map(\.sequence) == [2, 3, 4])
    }

    /// Nothing else would ever remove it.
    @Test func aSealedFileThatCouldNotBeRemovedIsTriedAgain() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segments: 1)
        disk.fault = { $0 == .sync || $0 == .remove ? .inputOutput : nil }
        #expect(throws: JournalError.inputOutput) { try log.append([1]) }
        disk.fault = { _ in nil }
        #expect(try log.append([2]) == 1)
        #expect(try WriteAheadLog(on: disk).frames().frames == [LoggedFrame(sequence: 1, payload: [2])])
    }

    @Test(arguments: [0, 100, 4096, 300_000, 600_000, 1_048_576, 1_100_000, 1_500_000])
    func aFullDiskHasWhatFitted(_ space: Int) throws {
        let disk = MadeUpDisk()
        disk.space = space
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 1 << 20)
        var count: UInt64 = 0
        let error = #expect(throws: JournalError.self) {
            while true {
                _ = try log.append([UInt8](repeating: 1, count: 9968))
                count += 1
                if count % 7 == 0 { while log.prepare() {} }
            }
        }
        #expect(error == .diskFull)
        #expect(Int(count) >= space / 10_000 - 110, "of two segments, the first may have been left early")
        #expect(log.lastSequence == count && log.room < 10_000)
        #expect(!log.prepare())
        let (frames, replay) = try WriteAheadLog(on: disk, segmentBytes: 1 << 20).frames()
        #expect(frames.map(\.sequence) == Array(0..<count).map { $0 + 1 } && replay.damaged == 0)
        // What is forgotten needs no space.
        try log.erase()
        for name in disk.files { #expect(try #require(disk[name]).allSatisfy { $0 == 0 }) }
        // The log goes on by itself when there is space again.
        disk.space = .max
        #expect(try log.append([1]) == count + 1)
        log.release(through: count + 1)
        while log.prepare() {}
        #expect(log.room > 10_000)
        #expect(try WriteAheadLog(on: disk).frames(after: count).frames.count == 1)
    }

    /// While the disk is full, the segments that are there in full are used.
    @Test func aFullDiskLeavesTheSegmentsThatAreThere() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 1 << 20)
        // Two in full, the third begun.
        for _ in 0..<3 * 100 {
            if log.lastSequence == 220 { break }
            _ = try log.append([UInt8](repeating: 1, count: 9968))
        }
        log.release(through: log.lastSequence - 1)
        disk.space = disk.files.reduce(0) { $0 + (disk[$1]?.count ?? 0) }
        var count = 0
        while (try? log.append([UInt8](repeating: 1, count: 9968))) != nil { count += 1 }
        #expect(count >= 208, "both others are used")
        #expect(log.releaseSpare() == false && log.isCrowded && log.oldestFull != nil)
    }

    /// Each call of a life fails once, in each way.
    @Test(arguments: [JournalError.inputOutput, .diskFull, .readOnly])
    func anyCallMayFail(_ error: JournalError) throws {
        for seed in 0..<12 as Range<UInt64> {
            var failing = 0
            var isReached = true
            while isReached {
                let model = try LogModel(seed: seed)
                let target = model.disk.calls + failing
                isReached = false
                model.disk.fault = { [unowned disk = model.disk] call in
                    guard disk.calls == target + 1, call != .open || disk.calls > 8 else { return nil }
                    isReached = true
                    return error
                }
                for _ in 0..<40 {
                    do { try model.step() } catch let thrown as JournalError {
                        #expect([error, .inputOutput].contains(thrown))
                    }
                }
                if seed % 2 == 0 { model.kill() } else { model.cutPower() }
                try model.open()
                failing += 1 + failing / 20
            }
            #expect(failing > 40)
        }
    }

    /// The process ends, or the power goes, at each call of a life.
    @Test(arguments: [false, true]) func aLifeMayEndAtAnyCall(isPowerCut: Bool) throws {
        for seed in 100..<112 as Range<UInt64> {
            var ending = 1
            var isReached = true
            while isReached {
                let model = try LogModel(seed: seed)
                model.disk.lastCall = model.disk.calls + ending
                for _ in 0..<40 where model.disk.calls < model.disk.lastCall { try? model.step() }
                isReached = model.disk.calls >= model.disk.lastCall
                if isPowerCut { model.cutPower() } else { model.kill() }
                try model.open()
                for _ in 0..<5 { try model.step() }
                model.kill()
                try model.open()
                ending += 1 + ending / 20
            }
            #expect(ending > 40)
        }
    }

    /// Many lives of one log, against an array.
    @Test(arguments: 0..<40 as Range<UInt64>) func whateverHappensTheLogHoldsWhatAnArrayHolds(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed ^ 0xabcd)
        let model = try LogModel(seed: seed, segmentBytes: [512, 1024, 4096].randomElement(using: &random) ?? 512)
        for _ in 0..<25 {
            let end = Int.random(in: 1..<400, using: &random)
            model.disk.lastCall = model.disk.calls + end
            let rate = [0, 0, 20].randomElement(using: &random) ?? 0
            var faults = SplitMix64(seed: random.next())
            // What cannot be read is lost, and told.
            model.disk.fault = { call in
                rate > 0 && call != .read && Int.random(in: 0..<rate, using: &faults) == 0 ? .inputOutput : nil
            }
            while model.disk.calls < model.disk.lastCall { try? model.step() }
            if Bool.random(using: &random) { model.cutPower() } else { model.kill() }
            try model.open()
        }
    }
}
