public import Routing

/// An event with everything that is known about it: what the index keeps in one row.
public struct EventState: Sendable, Equatable {
    /// The event, with its decision.
    public var event: StoredEvent
    /// The number of the change that accepted it; `nil` if that has a row of its own.
    public var number: Int64?
    /// The number of the change that gave it its present outcome.
    public var decided: Int64?
    /// The claims that did not decide it, in their order; at most `Journal.claimsOfOneEvent`.
    public var claims: [ClaimRecord]
    /// Whether it has a read mark of its own.
    public var isMarkedRead: Bool
    /// Whether it is the current value of its topic.
    public var isValue: Bool

    public init(
        event: StoredEvent, number: Int64?, decided: Int64? = nil, claims: [ClaimRecord] = [],
        isMarkedRead: Bool = false, isValue: Bool = false
    ) {
        self.event = event
        self.number = number
        self.decided = decided
        self.claims = claims
        self.isMarkedRead = isMarkedRead
        self.isValue = isValue
    }
}

extension EventState {
    /// The byte that tells a row of the index from a `StateValue`.
    private static var kind: UInt8 { 64 }

    /// Appends the row with its checksum.
    package func write(to writer: inout RecordWriter) {
        writer.sealed(kind: Self.kind) { writer in
            writer.flags(number != nil, decided != nil, isMarkedRead, isValue)
            writer.value(event)
            if let number { writer.number(number, from: event.id) }
            if let decided { writer.number(decided, from: event.id) }
            writer.list(claims)
        }
    }

    /// Reads a row.
    ///
    /// - Throws: `Malformed` if the bytes are not exactly what was written.
    package init(stored bytes: UnsafeRawBufferPointer) throws(FieldCoding.Malformed) {
        var reader = try RecordReader(sealed: bytes, kind: Self.kind)
        let flags = try reader.flags(4)
        event = try reader.value()
        number = flags[0] ? try reader.number(from: event.id) : nil
        decided = flags[1] ? try reader.number(from: event.id) : nil
        claims = try reader.list()
        isMarkedRead = flags[2]
        isValue = flags[3]
        try reader.end()
    }
}
