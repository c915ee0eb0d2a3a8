import CZlib
package import Routing

/// The CRC-32 of a row's values. SQLite does not notice a flipped bit within a value.
struct Checksum {
    /// Bytes are collected, because zlib takes as long for one as for twenty.
    private static let capacity = 256
    private var collected = InlineArray<256, UInt8>(repeating: 0)
    private var count = 0
    private var sum = crc32(0, nil, 0)

    var value: Int64 {
        var copy = self
        copy.addCollected()
        return Int64(copy.sum)
    }

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
        if bytes.count > Self.capacity - count { addCollected() }
        guard bytes.count <= Self.capacity else {
            sum = Self.sum(sum, bytes)
            return
        }
        withUnsafeMutableBytes(of: &collected) { [count] in
            UnsafeMutableRawBufferPointer(rebasing: $0[count...]).copyMemory(from: bytes)
        }
        count += bytes.count
    }

    private mutating func add(byte: UInt8) {
        if count == Self.capacity { addCollected() }
        collected[count] = byte
        count += 1
    }

    private mutating func addCollected() {
        sum = withUnsafeBytes(of: collected) { Self.sum(sum, UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        count = 0
    }

    private static func sum(_ sum: UInt, _ bytes: UnsafeRawBufferPointer) -> UInt {
        // zlib takes a null pointer as the request for a new sum.
        guard !bytes.isEmpty else { return sum }
        return crc32_z(sum, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    }
}

extension StoredEvent {
    /// The checksum of the columns that never change.
    package func checksum(fields: [UInt8], appearance: [UInt8]?) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        // One after the other: an array of them would be allocated.
        sum.add(topic.description)
        sum.add(title)
        sum.add(body)
        sum.add(sender)
        sum.add(origin.source)
        sum.add(origin.eventID)
        sum.add(route)
        sum.add(key)
        fields.withUnsafeBytes { sum.add(bytes: $0) }
        sum.add(published)
        sum.add(Int64(urgency?.rawValue ?? 255))
        sum.add(retained ? 1 : 0)
        sum.add(window)
        sum.add(accepted)
        sum.add(expires.wall)
        sum.add(expires.uptime)
        sum.add(expires.boot)
        // Rows of earlier versions do not have this column.
        appearance?.withUnsafeBytes { sum.add(bytes: $0) }
        if let collapse { sum.add(collapse) }
        if let via = origin.via {
            sum.add("via")
            sum.add(via)
        }
        return sum.value
    }
}

extension StoredDecision {
    package func checksum(of id: EventID) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        sum.add(outcome.rawValue)
        sum.add(claimant)
        sum.add(form?.rawValue)
        sum.add(server)
        sum.add(cause)
        sum.add(resolved)
        sum.add(opened)
        sum.add(deadline)
        sum.add(latency)
        sum.add(lateness)
        sum.add(isReplayed ? 1 : 0)
        sum.add(banner.map { Int64($0) })
        sum.add(count.map { Int64($0) })
        // Rows of earlier versions do not have these columns.
        if let shownWith { sum.add(Int64(bitPattern: shownWith.rawValue)) }
        if isRead { sum.add("read") }
        if isReplayed, isOfEarlierBoot { sum.add("earlier boot") }
        if let action {
            sum.add("action")
            sum.add(action)
        }
        if let program {
            sum.add("program")
            sum.add(program)
        }
        if let device = place.device {
            sum.add("device")
            sum.add(device)
        }
        if let via = place.via {
            sum.add("via")
            sum.add(via)
        }
        return sum.value
    }
}

extension Origin {
    /// The checksum of a removal with this global id.
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
    /// The number in the file; -1 if there is no latency.
    var storedLatency: Int64 { latency?.microseconds ?? -1 }

    package func checksum(of id: EventID) -> Int64 {
        var sum = Checksum()
        sum.add(Int64(bitPattern: id.rawValue))
        for text in [claimant, form.rawValue, verdict.rawValue] { sum.add(text) }
        sum.add(storedLatency)
        // Rows of earlier versions do not have this column.
        if let program { sum.add(program) }
        return sum.value
    }
}
