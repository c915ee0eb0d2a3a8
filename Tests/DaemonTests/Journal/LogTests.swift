import Foundation
import NotifyTestSupport
import Testing

@testable import Journal

/// A frame as it was read.
struct LoggedFrame: Equatable, CustomStringConvertible {
    let sequence: UInt64
    let payload: [UInt8]

    var description: String { "\(sequence): \(payload.count) bytes, \(payload.prefix(8))" }
}

func logPayload(_ number: Int, bytes count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0 &* 7 &+ 1) }
}

extension WriteAheadLog {
    /// Reads everything above a sequence, into an array.
    func frames(after applied: UInt64 = 0) throws -> (frames: [LoggedFrame], replay: Replay) {
        var frames: [LoggedFrame] = []
        let replay = try replay(after: applied) { sequence, payload throws(JournalError) in
            frames.append(LoggedFrame(sequence: sequence, payload: Array(payload)))
        }
        return (frames, replay)
    }

    static func opened(
        on disk: any LogDisk, segmentBytes: Int = 4096, segments: Int = 3, after applied: UInt64 = 0
    ) throws -> WriteAheadLog {
        let log = try WriteAheadLog(on: disk, segmentBytes: segmentBytes, segments: segments)
        _ = try log.replay(after: applied) { _, _ in }
        return log
    }
}

/// What a log does while nothing fails.
struct LogTests {
    private let folder = Fixture.folder

    @Test(.folder) func whatWasAppendedIsReadInItsOrder() throws {
        let disk = DirectoryDisk(folder)
        let payloads = [0, 1, 7, 8, 9, 200, 4000].map { logPayload($0, bytes: $0) }
        let log = try WriteAheadLog.opened(on: disk)
        #expect(log.lastSequence == 0)
        #expect(log.syncTime == nil)
        for (index, payload) in payloads.enumerated() { #expect(try log.append(payload) == UInt64(index + 1)) }
        #expect(log.lastSequence == 7)
        #expect(log.syncTime != nil)
        log.close()

        let again = try WriteAheadLog(on: disk, segmentBytes: 4096)
        let expected = zip(1..., payloads).map { LoggedFrame(sequence: $0, payload: $1) }
        for _ in 0..<2 {
            let (frames, replay) = try again.frames()
            #expect(frames == expected)
            #expect(replay == WriteAheadLog.Replay(frames: 7, last: 7))
        }
        #expect(try again.frames(after: 5).frames == Array(expected[5...]))
        #expect(try again.append([1]) == 8)
    }

    @Test func sequencesGoOnBehindWhatTheIndexHas() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, after: 41)
        #expect(try log.append([1]) == 42)
        #expect(try WriteAheadLog.opened(on: disk, after: 42).append([2]) == 43)
        #expect(try WriteAheadLog(on: disk).frames(after: 42).frames == [LoggedFrame(sequence: 43, payload: [2])])
    }

    @Test func nothingIsAppendedBeforeTheLogWasRead() throws {
        let log = try WriteAheadLog(on: MadeUpDisk())
        #expect(throws: JournalError.self) { try log.append([1]) }
        #expect(throws: JournalError.self) { try log.erase() }
        #expect(!log.prepare())
    }

    /// What the reader of the frames refuses stops the reading, and the next one begins again.
    @Test func anErrorOfTheReaderIsPassedOn() throws {
        let disk = MadeUpDisk()
        _ = try WriteAheadLog.opened(on: disk).append([1])
        let log = try WriteAheadLog(on: disk)
        #expect(throws: JournalError.damaged) {
            try log.replay(after: 0) { _, _ throws(JournalError) in throw .damaged }
        }
        #expect(throws: JournalError.self) { try log.append([2]) }
        #expect(try log.frames().frames.count == 1)
        #expect(try log.append([2]) == 2)
    }

    @Test(arguments: [4096]) func theLargestPayloadFits(_ segmentBytes: Int) throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: segmentBytes)
        let payload = [UInt8](repeating: 1, count: WriteAheadLog.largestPayload)
        #expect(try log.append(payload) == 1)
        #expect(try log.append([7]) == 2)
        #expect(throws: JournalError.self) { try log.append(payload + [1]) }
        let expected = [LoggedFrame(sequence: 1, payload: payload), LoggedFrame(sequence: 2, payload: [7])]
        #expect(try WriteAheadLog(on: disk).frames().frames == expected)
        // A file that became larger for it becomes smaller when it is used again.
        log.release(through: 2)
        for _ in 0..<3 * (log.room / 4032 + 3) {
            log.release(through: try log.append([UInt8](repeating: 3, count: 4000)))
        }
        let larger = segmentBytes < 4032 ? 4032 : segmentBytes
        for name in disk.files { #expect(try #require(disk[name]).count <= larger) }
    }

    @Test(.folder) func theFilesBelongToTheirUserAlone() throws {
        _ = FileManager.default.createFile(
            atPath: folder + "/log-0", contents: nil, attributes: [.posixPermissions: 0o644])
        let log = try WriteAheadLog.opened(on: DirectoryDisk(folder))
        while !FileManager.default.fileExists(atPath: folder + "/log-1") { _ = try log.append([1, 2, 3]) }
        for name in ["/log-0", "/log-1"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test(.folder, arguments: ["link", "link to nothing", "pipe", "directory"])
    func whatIsNotARegularFileIsToldOf(_ kind: String) throws {
        let path = folder + "/log-1"
        switch kind {
        case "link":
            _ = FileManager.default.createFile(atPath: folder + "/other", contents: Data([1]))
            symlink(folder + "/other", path)
        case "link to nothing": symlink(folder + "/nothing", path)
        case "pipe": mkfifo(path, 0o600)
        default: mkdir(path, 0o700)
        }
        let error = #expect(throws: JournalError.self) { try WriteAheadLog(on: DirectoryDisk(folder)) }
        guard case .obstacle(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.hasPrefix("\(path) is a ") && text.hasSuffix(", not a regular file"))
    }

    @Test func aLogIsReadWithoutWritingAnything() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk)
        for number in 1...100 { _ = try log.append(logPayload(number, bytes: 60)) }
        disk.fault = { [.open, .size, .read].contains($0) ? nil : .readOnly }
        var frames: [LoggedFrame] = []
        let replay = try WriteAheadLog.read(on: disk, after: 40) { sequence, payload throws(JournalError) in
            frames.append(LoggedFrame(sequence: sequence, payload: Array(payload)))
        }
        #expect(frames == (41...100).map { LoggedFrame(sequence: $0, payload: logPayload(Int($0), bytes: 60)) })
        #expect(replay == WriteAheadLog.Replay(frames: 60, last: 100))
        #expect(try WriteAheadLog.read(on: MadeUpDisk(), after: 40) { _, _ in } == WriteAheadLog.Replay(last: 40))
    }

    @Test func aFrameCostsOneWriteAndOneSync() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 1 << 20)
        while log.prepare() {}
        let before = disk.calls
        for _ in 0..<100 { _ = try log.append([1, 2, 3]) }
        #expect(disk.calls == before + 200)
    }

    // MARK: Segments

    @Test func fullSegmentsAreUsedAgainWhenTheyAreReleased() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 1024)
        // Each takes 128 bytes.
        func fill(_ count: Int) throws { for _ in 0..<count { _ = try log.append(logPayload(1, bytes: 96)) } }
        #expect(log.room == 1024)
        try fill(8)
        #expect(log.room == 0 && log.oldestFull == nil && !log.isCrowded)
        try fill(16)
        #expect(log.room == 0 && log.oldestFull == 8 && log.isCrowded)
        #expect(throws: JournalError.diskFull) { try fill(1) }
        log.release(through: 7)
        #expect(throws: JournalError.diskFull) { try fill(1) }
        log.release(through: 8)
        #expect(log.room == 1024 && log.oldestFull == 16 && log.hasSpare)
        try fill(1)
        #expect(log.room == 1024 - 128 && log.oldestFull == 16)
        #expect(disk.files == ["log-0", "log-1", "log-2"])
        #expect(try WriteAheadLog(on: disk).frames(after: 8).frames.map(\.sequence) == Array(9...25))
    }

    @Test func zerosAreWrittenAheadInSteps() throws {
        let disk = MadeUpDisk()
        let log = try WriteAheadLog.opened(on: disk, segmentBytes: 1 << 20)
        #expect(disk["log-0"] == [])
        #expect(log.prepare())
        #expect(disk["log-0"]?.count == 256 << 10)
        while log.prepare() {}
        // An idle log takes no more than it soon needs.
        #expect(disk["log-0"]?.count == 512 << 10)
        #expect(disk.files == ["log-0"] && !log.hasSpare)
        _ = try log.append([UInt8](repeating: 1, count: 500 << 10))
        _ = try log.append([UInt8](repeating: 2, count: 40 << 10))
        #expect(log.prepare())
        while log.prepare() {}
        #expect(disk["log-0"]?.count == 1 << 20)
        #expect(disk["log-1"]?.count == 1 << 20)
        #expect(disk.files == ["log-0", "log-1"] && log.hasSpare)
        #expect(disk.unsynced == 0)

        #expect(log.releaseSpare())
        #expect(disk.files == ["log-0"] && !log.hasSpare)
        #expect(!log.releaseSpare())
        #expect(log.prepare())
        #expect(log.hasSpare)
    }

    /// Whoever has lost what was released is not told about damage.
    @Test(.folder) func whatWasReleasedIsNotMissed() throws {
        let disk = DirectoryDisk(folder)
        let log = try WriteAheadLog.opened(on: disk)
        for _ in 0..<10 { log.release(through: try log.append([UInt8](repeating: 3, count: 1500)) - 1) }
        log.close()
        let (frames, replay) = try WriteAheadLog(on: disk, segmentBytes: 4096).frames()
        #expect(frames.last?.sequence == 10 && frames.first.map { $0.sequence > 1 } == true)
        #expect(replay.damaged == 0 && replay.isBehind)
    }

    @Test func nothingIsLeftInAnyFileOfWhatWasErased() throws {
        let disk = MadeUpDisk()
        var log = try WriteAheadLog.opened(on: disk, segmentBytes: 1024)
        for round in 0..<12 {
            for _ in 0...round { _ = try log.append(logPayload(1, bytes: 96)) }
            if round % 4 == 3 { log = try WriteAheadLog.opened(on: disk, segmentBytes: 1024) }
            if round % 3 == 2 { log.release(through: log.lastSequence - 2) }
            if round % 5 == 4 {
                log.release(through: log.lastSequence)
                _ = log.releaseSpare()
            }
            let last = log.lastSequence
            try log.erase()
            #expect(disk.unsynced == 0)
            for name in disk.files { #expect(try #require(disk[name]).allSatisfy { $0 == 0 }) }
            #expect(log.lastSequence == last)
            #expect(try WriteAheadLog(on: disk).frames(after: last).replay == WriteAheadLog.Replay(last: last))
        }
    }
}
