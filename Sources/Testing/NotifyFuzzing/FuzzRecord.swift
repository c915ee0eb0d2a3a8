import Journal
import Routing

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
