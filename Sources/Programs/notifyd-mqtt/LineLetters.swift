import NotifyBridge
import NotifyClient

/// The dead letters of a line that are not on the disk yet. They are written together with the next records: a line
/// never takes note on disk that it is done with a message without the letter of it. Where no records follow soon, they
/// are written alone.
final class LineLetters: @unchecked Sendable {
    // Proof: everything runs on `loop`.

    private let services: BridgeServices
    private let loop: WorkLoop
    private var waiting: [BusLetter] = []
    private var isFailing = false
    private var timer: WorkTimer?
    private var backoff = Backoff(upTo: .seconds(30))

    /// Letters that wait at most; the oldest ones are given up for others.
    private static let maximumWaiting = 100
    private static let pause = Duration.seconds(1)

    init(_ services: BridgeServices, _ loop: WorkLoop) {
        self.services = services
        self.loop = loop
    }

    func add(_ letter: BusLetter) {
        waiting.append(letter)
        limit()
        if timer == nil { writeLater(after: Self.pause) }
        // While the disk takes them, many do not wait.
        if !isFailing, waiting.count >= Self.maximumWaiting / 2 { write() }
    }

    /// Takes out what waits, for somebody who writes it and calls `wrote`.
    func take() -> [BusLetter] {
        defer { waiting = [] }
        timer?.cancel()
        timer = nil
        return waiting
    }

    /// What could not be written waits again, unless the disk takes nothing for too long.
    func wrote(_ letters: [BusLetter], _ error: StoreError?) {
        guard !letters.isEmpty else { return }
        switch services.deadLetters.wrote(letters.count, error) {
        case .kept:
            backoff.reset()
            isFailing = false
        case .givenUp: isFailing = true
        case .failed:
            isFailing = true
            waiting = letters + waiting
            limit()
            if timer == nil { writeLater(after: backoff.next() + Self.pause) }
        }
    }

    private func limit() {
        let excess = waiting.count - Self.maximumWaiting
        guard excess > 0 else { return }
        waiting.removeFirst(excess)
        services.deadLetters.gaveUp(excess)
    }

    private func writeLater(after pause: Duration) {
        timer = loop.perform(after: pause) { [weak self] in self?.write() }
    }

    private func write() {
        let letters = take()
        guard !letters.isEmpty else { return }
        services.store.write([], keeping: letters) { [weak self] error in
            self?.loop.perform { [weak self] in self?.wrote(letters, error) }
        }
    }
}

/// `Linking` has one of the same name.
typealias BusLetter = DeadLetter

extension DaemonLink {
    /// The property `Device` of notifyd; `nil` if it does not say, or its journal cannot be read.
    func device() async -> String? {
        let reply = try? await connection.call(.toProperties("Get", [.string("Device")]))
        guard let first = reply?.arguments.first else { return nil }
        if case .variant(let value) = first { return value.string }
        return first.string
    }
}
