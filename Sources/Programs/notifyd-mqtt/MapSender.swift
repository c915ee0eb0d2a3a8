import Logging
import Mapping
import Mosquitto
import NotifyBridge
import NotifyClient
import NotifyText

/// Sends events out for maps: the rows of the journal, in their order. On disk is the number of the last row that the
/// broker has acknowledged.
final class MapSender: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

    private let maps: [OutboundMap]
    private let services: BridgeServices
    private let loop: WorkLoop
    private var work: Task<Void, Never>?
    private var connection: BrokerConnection?
    /// The number of the connection.
    private var generation = 0
    /// What was sent and not acknowledged, by its token.
    private var inFlight: [UInt64: DeadLetter] = [:]
    private var lastToken: UInt64 = 0
    private var isStopped = false
    private var waiter: CheckedContinuation<Void, Never>?

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
        generation += 1
        work = work ?? loop.task { await self.run() }
        wake()
    }

    func disconnected() {
        connection = nil
        inFlight = [:]
        wake()
    }

    func stop() {
        isStopped = true
        work?.cancel()
        disconnected()
    }

    func acknowledged(_ token: UInt64) {
        inFlight[token] = nil
        wake()
    }

    /// The broker never accepts the message.
    func refused(_ token: UInt64) {
        if let letter = inFlight[token] { reject(letter, token) }
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }

    // MARK: Rows

    private func run() async {
        while !isStopped {
            do {
                let cursor = try await services.cursor(Self.cursorKey)
                for try await rows in services.daemon.changes(after: cursor, limit: Self.rowsPerPage) {
                    await send(rows)
                }
            } catch {
                if isStopped { return }
                services.logger.error("The journal cannot be read", metadata: ["error": "\(error)"])
            }
            await loop.sleep(for: Self.pause)
        }
    }

    /// Sends a page, and returns when the broker has acknowledged all of it. What a connection leaves open is sent
    /// again on the next one.
    private func send(_ rows: [JournalChange]) async {
        var rest = rows[...]
        while !rest.isEmpty, !isStopped {
            if let connection {
                let generation = generation
                var tokens = rest.map { send($0, on: connection) }[...]
                while generation == self.generation, self.connection != nil, !rest.isEmpty {
                    let done = tokens.prefix { $0.allSatisfy { inFlight[$0] == nil } }
                    // Rows for no map may be read again after a restart.
                    if done.contains(where: { !$0.isEmpty }) { storeCursor(rest.prefix(done.count).last?.number ?? 0) }
                    rest = rest.dropFirst(done.count)
                    tokens = tokens.dropFirst(done.count)
                    if !rest.isEmpty { await withCheckedContinuation { waiter = $0 } }
                }
            } else {
                await withCheckedContinuation { waiter = $0 }
            }
        }
    }

    /// - Returns: the tokens of its messages.
    private func send(_ row: JournalChange, on connection: BrokerConnection) -> [UInt64] {
        guard row.kind == "event", let event = OutboundMap.Event(topic: row.topic, details: row.details) else {
            return []
        }
        // What has expired while the broker was away is not new.
        if let expires: Int64 = row.details["expires"]?.integer(), expires <= SystemClock.wall { return [] }
        return maps.filter { $0.takes(event) }.map { map in
            lastToken += 1
            var letter = DeadLetter(topic: row.topic, origin: "map \(map.address)")
            do throws(MapError) {
                letter.content = try map.message(for: event)
                letter.reason = "the broker does not take messages of \(letter.content.count) bytes"
                inFlight[lastToken] = letter
                connection.publish(lastToken, topic: map.address, payload: letter.content, isRetained: map.isRetained)
            } catch {
                letter.reason = error.description
                inFlight[lastToken] = letter
                reject(letter, lastToken)
            }
            return lastToken
        }
    }

    private func storeCursor(_ cursor: UInt64) {
        services.store.write([.put(Self.cursorKey, cursor)]) { [logger = services.logger] error in
            if let error { logger.error("The state cannot be written", metadata: ["error": "\(error)"]) }
        }
    }

    /// The row counts as done when its dead letter is kept.
    private func reject(_ letter: DeadLetter, _ token: UInt64) {
        services.logger.warning(
            "An event cannot be sent out", metadata: ["map": "\(letter.origin)", "error": "\(letter.reason)"])
        loop.task { [services] in
            if (try? await services.deadLetters.keep(letter)) != nil { self.acknowledged(token) }
        }
    }
}
