import Journal
import Routing

/// The files of a log: frames of several uses, and whatever else is in them. They are read in order, each frame at most
/// once, and again as the first time.
public func fuzzFrame(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    let applied = choices.flag() ? UInt64(choices.below(8)) : choices.number()
    let disk = FuzzedFiles((0...choices.below(3)).map { _ in choices.segment() })
    checkFrames(disk.files[0])
    guard let first = frames(disk, after: applied), let second = frames(disk, after: applied) else { return }
    precondition(first == second, "what is read twice is the same")
    var last = applied
    for sequence in first.sequences {
        precondition(sequence > last, "sequences rise")
        last = sequence
    }
    precondition(first.replay.frames == first.sequences.count && first.replay.last == last, "what is read is counted")
    precondition(first.replay.damaged >= 0, "what is missing is counted")
}

private struct Frames: Equatable {
    let sequences: [UInt64]
    let bytes: Int
    let replay: WriteAheadLog.Replay
}

private func frames(_ disk: FuzzedFiles, after applied: UInt64) -> Frames? {
    var sequences: [UInt64] = []
    var bytes = 0
    let replay = try? WriteAheadLog.read(on: disk, after: applied) { sequence, payload throws(JournalError) in
        sequences.append(sequence)
        bytes += payload.count
    }
    precondition(replay != nil, "whatever is in the files, they are read")
    return replay.map { Frames(sequences: sequences, bytes: bytes, replay: $0) }
}

/// Frames stand one behind the other, within their segment.
private func checkFrames(_ bytes: [UInt8]) {
    var reader = LogFrameReader(bytes)
    var end = 0
    while let (frame, isIntact) = reader.next() {
        precondition(frame.offset >= end && frame.offset % 8 == 0, "no frame is within another")
        if isIntact { precondition(frame.payload.upperBound <= bytes.count, "a payload is within its segment") }
        end = isIntact ? frame.end : frame.offset + 8
    }
}

extension Choices {
    fileprivate mutating func segment() -> [UInt8] {
        var file: [UInt8] = []
        var frame: [UInt8] = []
        var previous: UInt32 = 0
        for _ in 0..<below(32) {
            switch below(6) {
            case 0: file += bytes()
            case 1: file += [UInt8](repeating: 0, count: below(256))
            case 2: if !file.isEmpty { file[Int(number(UInt16.self)) % file.count] ^= 1 << UInt8(below(8)) }
            case 3: file.removeLast(Swift.min(file.count, below(64)))
            default:
                let sequence = flag() ? UInt64(below(24)) : number()
                let segment = flag() ? UInt32(below(4)) : number()
                let payload = bytes()
                previous = payload.withUnsafeBytes {
                    LogFrame.write(
                        $0, previous: flag() ? previous : 0, salt: UInt32(below(2)), segment: segment,
                        sequence: sequence, to: &frame)
                }
                if flag() { file += [UInt8](repeating: 0, count: (8 - file.count % 8) % 8) }
                file += frame
            }
        }
        return file
    }
}

/// Files that are only read.
private final class FuzzedFiles: LogDisk {
    let files: [[UInt8]]

    init(_ files: [[UInt8]]) {
        self.files = files
    }

    func open(_ name: String, _: LogFilePurpose) throws(JournalError) -> (any LogFile)? {
        files.indices.first { name == "log-\($0)" }.map { File(files[$0]) }
    }

    func remove(_: String) throws(JournalError) { throw .readOnly }
    func syncDirectory() throws(JournalError) { throw .readOnly }
    func random() -> UInt32 { 0 }

    private final class File: LogFile {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        func size() throws(JournalError) -> Int { bytes.count }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(JournalError) -> Int {
            let part = bytes[Swift.min(offset, bytes.count)...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            return part.count
        }

        func write(_: UnsafeRawBufferPointer, at _: Int) throws(JournalError) { throw .readOnly }
        func truncate(to _: Int) throws(JournalError) { throw .readOnly }
        func sync() throws(JournalError) { throw .readOnly }
        func close() {}
    }
}

/// What the journal's log and its index hold. It is read or refused, and what is read has one coding.
public func fuzzRecord(_ bytes: [UInt8]) {
    guard let choice = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    switch choice % 3 {
    case 0: checkRecords(rest)
    case 1: checkSealed(rest)
    default:
        // With the right checksum, so that what is behind it is reached.
        var writer = RecordWriter()
        writer.sealed { writer in
            for byte in rest { writer.byte(byte) }
        }
        checkSealed(writer.bytes)
    }
}

private func checkRecords(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
        var reader = RecordReader(bytes)
        var writer = RecordWriter()
        while !reader.isAtEnd, let record = try? LogRecord(from: &reader) {
            record.write(to: &writer)
            precondition(bytes.starts(with: writer.bytes), "a record has one coding")
        }
    }
}

private func checkSealed(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
        guard let record = try? LogRecord(sealed: bytes) else { return }
        var writer = RecordWriter()
        record.writeSealed(to: &writer)
        precondition(bytes.elementsEqual(writer.bytes), "a record has one coding")
    }
}
