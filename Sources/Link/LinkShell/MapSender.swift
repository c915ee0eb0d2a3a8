import Logging
import Mapping
import Mosquitto
import NotifyBridge
import NotifyClient
import Routing

/// Sends events out for maps: the rows of the journal, in their order. On disk is the number of the last row that the
/// broker has acknowledged.
///
/// Rows are read a page at a time, and only while the broker is there.
final class MapSender: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

    private struct Flight {
        let number: UInt64
        /// Messages that are not acknowledged.
        var tokens: Set<UInt64>
    }

    private let maps: [OutboundMap]
    private let services: BridgeServices
    private let loop: WorkLoop
    private var observation: DaemonObservation?

    private var connection: BrokerConnection?
    /// Everything up to this number is dealt with; `nil` until it is known.
    private var cursor: UInt64?
    /// How far rows were read on this connection.
    private var position: UInt64 = 0
    private var flights: [Flight] = []
    /// What was sent and not acknowledged, for dead letters.
    private var letters: [UInt64: BusLetter] = [:]
    private var lastToken: UInt64 = 0
    /// Numbers the connections: answers for earlier ones are passed over.
    private var life = 0
    private var isReading = false
    private var hasMore = true

    private static let cursorKey = "map-cursor"
    private static let rowsPerPage: UInt32 = 50
    private static let pause = Duration.seconds(5)

    init(_ maps: [OutboundMap], services: BridgeServices, loop: WorkLoop) {
        self.maps = maps
        self.services = services
        self.loop = loop
    }

    /// Goes on after the last row that was acknowledged; the first time, with the present.
    func connected(_ connection: BrokerConnection) {
        self.connection = connection
        life += 1
        observation =
            observation
            ?? services.daemon.observe([.event]) { [weak self] notice in
                switch notice {
                case .appeared, .event: self?.changed()
                case .vanished, .resolved, .removed, .attention, .action: break
                }
            }
        begin(life)
    }

    func disconnected() {
        connection = nil
        flights = []
        letters = [:]
        isReading = false
        life += 1
    }

    func stop() {
        disconnected()
        observation = nil
    }

    private func begin(_ life: Int) {
        loop.task { [weak self, services] in
            var number = try? await services.store.number(Self.cursorKey)
            if number == nil, let newest = try? await services.daemon.newestChange() {
                number = newest
                try? await services.store.write([.put(Self.cursorKey, newest)])
            }
            guard let self else { return }
            loop.perform { [number] in self.found(number, life) }
        }
    }

    private func found(_ number: UInt64?, _ life: Int) {
        guard life == self.life else { return }
        guard let number else {
            loop.perform(after: Self.pause) { [weak self] in
                if let self, life == self.life { begin(life) }
            }
            return
        }
        cursor = max(cursor ?? 0, number)
        position = cursor!
        changed()
    }

    private func changed() {
        hasMore = true
        read()
    }

    // MARK: Rows

    private func read() {
        guard connection != nil, cursor != nil, hasMore, !isReading, flights.isEmpty else { return }
        isReading = true
        hasMore = false
        services.daemon.submit(.changes(after: position, limit: Self.rowsPerPage)) { [weak self, life] answer in
            self?.took(answer, life)
        }
    }

    private func took(_ answer: DaemonAnswer, _ life: Int) {
        guard life == self.life else { return }
        isReading = false
        guard let rows = answer.changes?.rows else {
            loop.perform(after: Self.pause) { [weak self] in self?.changed() }
            return
        }
        guard let last = rows.last else { return }
        position = last.number
        for row in rows { send(row) }
        // Rows that say nothing may be read again after a restart.
        if flights.isEmpty { cursor = position }
        changed()
    }

    private func send(_ row: JournalChange) {
        guard let connection, row.kind == "event", let event = OutboundMap.Event(row) else { return }
        // What has expired while the broker was away is not new.
        if let expires: Int64 = row.details["expires"]?.integer(), expires <= SystemClock.wall { return }
        var tokens: Set<UInt64> = []
        for map in maps where map.takes(event) {
            var letter = BusLetter(topic: row.topic, origin: "map \(map.address)", reason: "")
            do throws(MapError) {
                letter.content = try map.message(for: event)
            } catch {
                letter.reason = error.description
                lastToken += 1
                tokens.insert(lastToken)
                keep(letter) { [weak self, life, token = lastToken] in
                    if let self, life == self.life { acknowledged(token) }
                }
                continue
            }
            letter.reason = "the broker does not take messages of \(letter.content.count) bytes"
            lastToken += 1
            letters[lastToken] = letter
            tokens.insert(lastToken)
            connection.publish(lastToken, topic: map.address, payload: letter.content, isRetained: map.isRetained)
        }
        if !tokens.isEmpty { flights.append(Flight(number: row.number, tokens: tokens)) }
    }

    func acknowledged(_ token: UInt64) {
        letters[token] = nil
        guard let index = flights.firstIndex(where: { $0.tokens.contains(token) }) else { return }
        flights[index].tokens.remove(token)
        var done: UInt64?
        while let first = flights.first, first.tokens.isEmpty { done = flights.removeFirst().number }
        guard let done else { return }
        let number = flights.isEmpty ? position : done
        cursor = number
        services.store.write([.put(Self.cursorKey, number)]) { [logger = services.logger] error in
            if let error { logger.error("The state cannot be written", metadata: ["error": "\(error)"]) }
        }
        if flights.isEmpty { read() }
    }

    /// The broker never takes it.
    func refused(_ token: UInt64) {
        guard let letter = letters[token] else { return acknowledged(token) }
        keep(letter) { [weak self, life] in
            if let self, life == self.life { acknowledged(token) }
        }
    }

    /// - Parameter completion: runs on the loop when the letter is dealt with: the row counts as done only then.
    private func keep(_ letter: BusLetter, _ completion: @escaping @Sendable () -> Void) {
        services.logger.warning(
            "An event cannot be sent out", metadata: ["map": "\(letter.origin)", "error": "\(letter.reason)"])
        loop.task { [services, loop] in
            if (try? await services.deadLetters.keep(letter)) != nil { loop.perform(completion) }
        }
    }
}

extension OutboundMap.Event {
    /// A row of `Changes`; `nil` if it cannot be understood.
    fileprivate init?(_ row: JournalChange) {
        let details = row.details
        guard let topic = try? Topic(row.topic), let source = details["source"]?.string,
            let id = details["event-id"]?.string, let published: Int64 = details["published"]?.integer()
        else { return nil }
        let fields = (details["fields"]?.fields ?? [:]).compactMap { name, value in value.plainText.map { (name, $0) } }
        self.init(
            topic: topic, title: details["title"]?.string ?? "", body: details["body"]?.string ?? "",
            published: published, urgency: details["urgency"]?.integer(), source: source, eventID: id,
            via: details["via"]?.string ?? "", fields: fields.sorted { $0.0 < $1.0 })
    }
}
