/// Messages that notifyd is asked to take, several at once, in the order in which they came. The cursor follows what is
/// done without a gap: what is still under way is asked for again after a crash.
public struct Flights: Sendable {
    private struct Flight: Sendable {
        let ticket: UInt64
        let key: SequenceTable.Key
        let time: Int64
        var isDone = false
    }

    /// So many are under way at most.
    public static let maximum = 16

    private var flights: [Flight] = []
    private var last: UInt64 = 0

    public init() {}

    public var isEmpty: Bool { flights.isEmpty }

    /// The number of the last message that has come.
    public var lastTicket: UInt64 { last }

    /// Whether everything up to a number is done.
    public func isDone(upTo ticket: UInt64) -> Bool { flights.first.map { $0.ticket > ticket } ?? true }

    /// The numbers of messages of the same sequence that came before and are not done.
    public func earlier(_ ticket: UInt64) -> [UInt64] {
        guard let key = flights.first(where: { $0.ticket == ticket })?.key else { return [] }
        return flights.filter { !$0.isDone && $0.ticket < ticket && $0.key == key }.map(\.ticket)
    }

    /// A message has come.
    ///
    /// - Returns: its number.
    public mutating func begin(_ message: NtfyMessage) -> UInt64 {
        last += 1
        let key = SequenceTable.Key(topic: message.topic, sequence: message.sequence)
        flights.append(Flight(ticket: last, key: key, time: message.time))
        return last
    }

    /// A message is done.
    ///
    /// - Returns: the newest time of what is done now without a gap; `nil` if something before it is not.
    public mutating func end(_ ticket: UInt64) -> Int64? {
        guard let index = flights.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        flights[index].isDone = true
        let done = flights.prefix { $0.isDone }
        let newest = done.map(\.time).max()
        flights.removeFirst(done.count)
        return newest
    }
}
