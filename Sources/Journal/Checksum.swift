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
        add(eight: UInt64(bitPattern: number))
    }

    mutating func add(bytes: UnsafeRawBufferPointer) {
        let whole = bytes.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            add(eight: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        }
        for byte in bytes[whole...] { add(byte: byte) }
    }

    private mutating func add(byte: UInt8) {
        state = tables[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ (state >> 8)
    }

    /// Eight bytes, the first of which is the lowest, at the price of two.
    private mutating func add(eight: UInt64) {
        let word = eight ^ UInt64(state)
        state = (0..<8).reduce(0) { sum, place in
            sum ^ tables[(7 - place) << 8 | Int(truncatingIfNeeded: word >> (8 * place)) & 0xFF]
        }
    }

    /// Held here, for at every use of a static it is asked whether it has been made.
    private let tables = Self.tables

    /// What a byte does to the sum, and then what it does when one to seven more follow: 256 values each.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = (0..<256).map { index in
            (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 0xFF)] ^ (before >> 8))
        }
        return tables
    }()
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
        // Rows of versions without these have sums without them.
        if let shownWith { sum.add(Int64(bitPattern: shownWith.rawValue)) }
        if isRead { sum.add("read") }
        if let action {
            sum.add("action")
            sum.add(action)
        }
        if let program {
            sum.add("program")
            sum.add(program)
        }
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

extension StoredBanner {
    package var checksum: Int64 {
        var sum = Checksum()
        sum.add(server)
        for number in [Int64(number), Int64(bitPattern: first.rawValue), isSummary ? 1 : 0] { sum.add(number) }
        return sum.value
    }
}

extension ClaimRecord {
    package func checksum(of id: EventID) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        for text in [claimant, form.rawValue, verdict.rawValue] { sum.add(text) }
        sum.add(latency.microseconds)
        // Rows of versions without it have sums without it.
        if let program { sum.add(program) }
        return sum.value
    }
}
