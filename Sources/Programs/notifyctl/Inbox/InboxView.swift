import NotifyClient
import Routing

/// Runs an ``InboxScreen`` on the terminal: draws it, and does what its keys ask.
struct InboxView: Sendable {
    /// The shortest time between two frames.
    private static let pause = Duration.milliseconds(30)

    private let feed: InboxFeed
    private let commands: AsyncStream<InboxScreen.Command>
    private let commanding: AsyncStream<InboxScreen.Command>.Continuation

    init(_ client: NotifyClient, _ topic: String, address: String) {
        feed = InboxFeed(client, topic, address: address)
        (commands, commanding) = AsyncStream.makeStream()
    }

    /// Until the user ends it.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await feed.run() }
            group.addTask { await perform() }
            group.addTask { await draw() }
            defer { group.cancelAll() }
            // The task that draws ends with the key that ends the program, and the first error ends it as well.
            try await group.next()
        }
    }

    private func draw() async {
        let isEnded = Locked(false)
        let decoder = Locked(KeyDecoder())
        let screen = FullScreen(
            onChange: { feed.ring() },
            onInput: { bytes in
                for key in decoder.withLock({ $0.keys(bytes) }) {
                    guard let command = feed.update({ $0.take(key) }) else { continue }
                    if command == .quit {
                        isEnded.withLock { $0 = true }
                        feed.ring()
                    } else {
                        commanding.yield(command)
                    }
                }
                feed.loadIfNeeded()
            })
        defer { screen.leave() }
        while !Task.isCancelled, !isEnded.withLock({ $0 }) {
            let size = Terminal.size ?? (80, 24)
            let frame = InboxFrame(now: Timestamp.now, width: size.columns, height: size.rows)
            screen.draw(feed.draw { frame.lines(&$0) })
            await feed.news()
            try? await Task.sleep(for: Self.pause)
        }
    }

    // MARK: Commands

    private func perform() async {
        for await command in commands {
            do throws(NotifyError) {
                let words = try await perform(command)
                feed.update { screen in if let words { screen.report(words) } }
            } catch {
                feed.update { $0.report(error.advice) }
            }
            feed.refresh()
        }
    }

    /// - Returns: what was done, for the user.
    private func perform(_ command: InboxScreen.Command) async throws(NotifyError) -> String? {
        let client = feed.client
        switch command {
        case .read(let id):
            try await client.claim(id)
            return "Read."
        case .readTopic(let topic, let last):
            return "Read at and below \(topic): \(try await client.markRead(topic, upTo: last))."
        case .claim(let id): return "Claimed: \(try await client.claim(id))."
        case .mute(let entry): return try await mute(entry)
        case .snooze(let id):
            try await client.snooze(id, for: InboxScreen.snooze)
            let now = Timestamp.now
            return "Snoozed until \(Timestamp(now + InboxScreen.snooze.microseconds).end(seenAt: now))."
        case .explain(let id):
            let explanation = try await client.explain(id)
            feed.update { $0.show(explanation) }
            return nil
        case .press(let button, let id):
            let before = try? await failedCommands()
            try await client.press(button.key, of: id)
            Task { [feed] in
                guard let before, await hasFailed(since: before) else { return }
                feed.update {
                    $0.report("Pressed “\(button.label)”, but a command failed; the log of notifyd says why.")
                }
            }
            return "Pressed “\(button.label)”."
        case .quit: return nil
        }
    }

    private func mute(_ entry: InboxEntry) async throws(NotifyError) -> String {
        let (client, topic) = (feed.client, entry.topic)
        // An older daemon does not have this property.
        let isMuted = (try? await client.quiet().isMuted(topic)) ?? false
        try await client.mute(topic, for: isMuted ? .zero : InboxScreen.mute)
        let now = Timestamp.now
        guard isMuted else {
            let end = Timestamp(now + InboxScreen.mute.microseconds).end(seenAt: now)
            let exception = entry.breaksThrough ? ", but its banners still come: its route has break_through" : ""
            return "\(topic) is muted until \(end)\(exception)."
        }
        let rest = try await client.quiet().first { $0.covers(topic) }
        return "\(topic) is not muted any more" + (rest.map { "; still quiet: \($0.words(at: now))." } ?? ".")
    }

    private func failedCommands() async throws(NotifyError) -> UInt64 {
        try await feed.client.statistics()["failed-commands"] ?? 0
    }

    /// Whether the command of a button fails within a second. Only notifyd's log tells of which button.
    private func hasFailed(since before: UInt64) async -> Bool {
        for _ in 1...10 {
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { return false }
            if let now = try? await failedCommands(), now > before { return true }
        }
        return false
    }
}
