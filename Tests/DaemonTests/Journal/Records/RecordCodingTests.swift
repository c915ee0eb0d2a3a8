import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// The binary coding of what the log and the index hold.
struct RecordCodingTests {
    // MARK: What was written

    @Test(arguments: 0..<RandomRecords.recordCases) func aRecordComesBackAsItWasWritten(_ index: Int) throws {
        for seed in 1...100 as ClosedRange<UInt64> {
            var random = RandomRecords(seed: seed)
            if seed == 100 { random.longest = 100_000 }
            let record = try random.record(index)
            let bytes = written(record)
            let read = try #require(try records(bytes).first)
            #expect(read == record)
            // Not every part of a record counts where two are compared.
            #expect(written(read) == bytes)
        }
    }

    @Test func recordsFollowOneAnother() throws {
        var random = RandomRecords(seed: 1)
        let list = try (0..<200).map { try random.record($0 % RandomRecords.recordCases) }
        var writer = RecordWriter()
        for record in list { record.write(to: &writer) }
        #expect(try records(writer.bytes) == list)
        #expect(try records([]).isEmpty)
    }

    @Test(arguments: 0..<RandomRecords.recordCases) func aSealedRecordComesBackAsItWasWritten(_ index: Int) throws {
        var writer = RecordWriter()
        for seed in 1...100 as ClosedRange<UInt64> {
            var random = RandomRecords(seed: seed)
            let record = try random.record(index)
            // A writer that is used again writes the same.
            writer.removeAll()
            record.writeSealed(to: &writer)
            #expect(writer.bytes == sealed(record))
            #expect(try readSealed(writer.bytes) == record)
        }
    }

    // MARK: What was not

    @Test(arguments: 0..<RandomRecords.recordCases) func aPartOfARecordIsRefused(_ index: Int) throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var random = RandomRecords(seed: seed)
            random.longest = 5
            let bytes = written(try random.record(index))
            for count in 1..<bytes.count {
                #expect(throws: FieldCoding.Malformed.self) { try records(Array(bytes[..<count])) }
            }
        }
    }

    @Test func aPartOfASealedRecordIsRefused() throws {
        for bytes in try sealedRecords() {
            for count in 0..<bytes.count { #expect(!isReadable(Array(bytes[..<count]))) }
            #expect(!isReadable(bytes + [0]))
        }
    }

    @Test func aSealedRecordWithAFlippedBitIsRefused() throws {
        for var bytes in try sealedRecords() {
            for bit in 0..<bytes.count * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8)
                #expect(!isReadable(bytes))
                bytes[bit / 8] ^= 1 << (bit % 8)
            }
        }
    }

    @Test(
        arguments: [
            // Another version, and codes that no case has.
            [1, 11, 0], [3, 11, 0], [2, 0, 0], [2, 24, 0], [2], [2, 11],
            // A number that is longer than need be, and one beyond 64 bits.
            [2, 10, 0, 0x80, 0], [2, 10, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            [2, 17, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 0],
            // A bit that has no meaning: of a record, of an origin, and of a banner.
            [2, 11, 2], [2, 13, 0, 8], [2, 9, 0, 1, 0, 1, 2],
            // Texts that no message can have: not UTF-8, NUL, U+FFFF; and one that is longer than what is left.
            [2, 13, 0, 1, 1, 0xFF], [2, 13, 0, 1, 1, 0], [2, 13, 0, 1, 3, 0xEF, 0xBF, 0xBF], [2, 13, 0, 1, 2, 0x61],
            // More elements than there are bytes.
            [2, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
            [2, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
            // A word that no counter has, and a topic that is none.
            [2, 23, 0, 1, 0x61, 0], [2, 16, 0, 1, 0x61, 0, 1, 0, 1],
        ] as [[UInt8]]) func bytesThatNoRecordHasAreRefused(_ bytes: [UInt8])
    {
        #expect(throws: FieldCoding.Malformed.self) { try records(bytes) }
    }

    /// With the right checksum, so that what is behind it is read too.
    @Test func randomBytesAreReadOrRefused() throws {
        var generator = SplitMix64(seed: 7)
        var random = RandomRecords(seed: 7)
        random.longest = 5
        for round in 0..<20_000 {
            var bytes =
                round % 2 == 0
                ? (0..<random.below(60)).map { _ in UInt8.random(in: 0...255, using: &generator) }
                : written(try random.record(round / 2 % RandomRecords.recordCases))
            for _ in 0..<random.below(4) where !bytes.isEmpty {
                bytes[random.below(bytes.count)] = UInt8.random(in: 0...255, using: &generator)
            }
            if let read = try? records(bytes) {
                var writer = RecordWriter()
                for record in read { record.write(to: &writer) }
                #expect(writer.bytes == bytes, "what can be read has no other coding")
            }
            var writer = RecordWriter()
            writer.sealed { writer in
                for byte in bytes { writer.byte(byte) }
            }
            if let read = try? readSealed(writer.bytes) { #expect(sealed(read) == writer.bytes) }
        }
    }

    // MARK: Help

    /// One of each kind.
    private func sealedRecords() throws -> [[UInt8]] {
        var random = RandomRecords(seed: 5)
        random.longest = 5
        return try (0..<RandomRecords.recordCases).map { sealed(try random.record($0)) }
    }

    private func isReadable(_ bytes: [UInt8]) -> Bool { (try? readSealed(bytes)) != nil }

    private func records(_ bytes: [UInt8]) throws -> [LogRecord] {
        try bytes.withUnsafeBytes { bytes in
            var reader = RecordReader(bytes)
            var records: [LogRecord] = []
            while !reader.isAtEnd { records.append(try LogRecord(from: &reader)) }
            return records
        }
    }

    private func readSealed(_ bytes: [UInt8]) throws -> LogRecord {
        try bytes.withUnsafeBytes { try LogRecord(sealed: $0) }
    }
}

func written(_ record: LogRecord) -> [UInt8] {
    var writer = RecordWriter()
    record.write(to: &writer)
    return writer.bytes
}

func sealed(_ record: LogRecord) -> [UInt8] {
    var writer = RecordWriter()
    record.writeSealed(to: &writer)
    return writer.bytes
}
