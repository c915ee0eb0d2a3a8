import Mapping
import Routing
import Testing

@testable import Linking

/// Records on disk.
struct RecordCodingTests {
    private static let device = Device("00112233445566778899aabbccddeeff")!

    private static var records: [Record] {
        var record = DeviceRecord(seen: -5)
        record.start = 7
        record.isStartProvisional = true
        record.received = .max
        record.missing = [8..<9]
        record.unknown = [10..<12, 14..<20]
        record.checkpoints = [DeviceRecord.Checkpoint(own: 1, theirs: 2)]
        record.signer = Signer("key")
        record.silentSince = 3
        record.name = "Büro\u{0}"
        let line = LineRecord(
            first: 1, cursor: LineRecord.Cursor(scanned: 3, sent: 2), seen: .max, connection: 5, counter: 6,
            hasJoined: true, version: 1)
        let value = ValueRecord(
            number: 4, topic: try! Topic("/run/1"),
            stamp: ValueStamp(published: .min, name: GlobalName(source: "a", eventID: "e\u{301}")), expires: 3,
            isRemoval: true)
        return [
            .line(line), .device(device, record), .device(device, DeviceRecord(seen: 0)),
            .value(Digest("0123456789abcdef0123456789abcdef")!, value),
        ]
    }

    @Test(arguments: records)
    func whatIsKeptIsRead(_ record: Record) throws {
        let coding = RecordCoding(line: "mqtt:run")
        let (key, value) = coding.encode(record)
        let bytes = try #require(value)
        #expect(coding.decode(key, bytes) == record)
        #expect(RecordCoding(line: "mqtt").decode(key, bytes) == nil)
        // What is damaged is as good as not there.
        #expect(coding.decode(key, Array(bytes.dropLast())) == nil)
        #expect(coding.decode(key, Array("{}".utf8)) == nil)
    }

    /// Before, records did not say whether a device had said something.
    @Test(arguments: [(9, Int64?.none), (7, 5)])
    func aDeviceOfAnOlderRecordIsSilentIfNothingFollowsItsBeginning(taken: Int, silentSince: Int64?) throws {
        let old =
            #"{"taken":\#(taken),"missing":[],"unknown":[],"checkpoints":[],"name":"","seen":5,"start":7}"#
        let record = RecordCoding(line: "mqtt").decode("mqtt/device/\(Self.device)", Array(old.utf8))
        guard case .device(_, let device?)? = record else {
            Issue.record("it is not read")
            return
        }
        #expect(device.silentSince == silentSince)
    }

    @Test func whatIsDroppedIsRemoved() {
        let (key, value) = RecordCoding(line: "mqtt").encode(.device(Self.device, nil))
        #expect(key == "mqtt/device/\(Self.device)" && value == nil)
    }

    @Test func namesAreCutBetweenCharacters() {
        #expect("Büro".beginning(ofBytes: 64) == "Büro" && "Büro".beginning(ofBytes: 2) == "B")
        #expect("".beginning(ofBytes: 0) == "")
    }
}
