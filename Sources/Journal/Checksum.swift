package import Routing

/// CRC-32 as in IEEE 802.3, over the content of a row: SQLite does not notice a flipped byte within a value.
struct Checksum {
    private var state: UInt32 = 0xFFFF_FFFF

    var value: Int64 { Int64(~state) }

    mutating func add(_ text: String?) {
        guard var text else { return add(byte: 0) }
        add(byte: 1)
        text.withUTF8 { add(bytes: UnsafeRawBufferPointer($0)) }
        add(byte: 0)
    }

    mutating func add(_ number: Int64?) {
        guard let number else { return add(byte: 0) }
        add(byte: 1)
        withUnsafeBytes(of: number.littleEndian) { add(bytes: $0) }
    }

    mutating func add(bytes: UnsafeRawBufferPointer) {
        for byte in bytes { add(byte: byte) }
    }

    private mutating func add(byte: UInt8) {
        state = Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ (state >> 8)
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }
}

extension StoredEvent {
    /// Over everything that never changes once the event is accepted.
    package func checksum(fields: [UInt8]) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        for text in [topic.description, title, body, sender, origin.source, origin.eventID, route, key] {
            sum.add(text)
        }
        fields.withUnsafeBytes { sum.add(bytes: $0) }
        for number in [published, Int64(urgency?.rawValue ?? 255), retained ? 1 : 0, window, accepted] {
            sum.add(number)
        }
        for number in [expires.wall, expires.uptime] { sum.add(number) }
        sum.add(expires.boot)
        return sum.value
    }
}

extension StoredDecision {
    package func checksum(of id: EventID) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        for text in [outcome.rawValue, claimant, form?.rawValue, server, cause] { sum.add(text) }
        for number in [resolved, opened, deadline, latency, lateness, isReplayed ? 1 : 0] { sum.add(number) }
        sum.add(banner.map { Int64($0) })
        sum.add(count.map { Int64($0) })
        return sum.value
    }
}

extension Origin {
    /// Of a removal with this name.
    func checksum(of id: EventID, accepted: Int64) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        sum.add(source)
        sum.add(eventID)
        sum.add(accepted)
        return sum.value
    }
}

extension ClaimRecord {
    package func checksum(of id: EventID) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        for text in [claimant, form.rawValue, verdict.rawValue] { sum.add(text) }
        sum.add(latency.microseconds)
        return sum.value
    }
}
