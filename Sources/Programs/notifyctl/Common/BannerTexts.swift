import NotifyClient

/// What the banners of events say, asked of the daemon. Without a text the output is as it would be without this.
struct BannerTexts: Sendable {
    /// The output does not wait longer.
    private static let timeout = Duration.seconds(1)
    /// Enough parallel calls to use the daemon, and few enough for other callers.
    static let callsAtOnce = 16

    let client: NotifyClient
    /// Whether the daemon is too old to be asked.
    private let isOld = Locked(false)

    init(_ client: NotifyClient) { self.client = client }

    /// What a banner of this event alone says; `nil` if the daemon does not tell.
    func text(of id: EventID) async -> BannerText? {
        if isOld.withLock(\.self) { return nil }
        do throws(NotifyError) {
            return try await client.render(id, autoStart: false, timeout: Self.timeout)
        } catch {
            if error.name == NotifyError.unknownMethod { isOld.withLock { $0 = true } }
            return nil
        }
    }

    /// The texts of those events that need one, by id.
    func texts(of records: [RecordedEvent]) async -> [EventID: BannerText] {
        await withTaskGroup(of: (EventID, BannerText?).self) { group in
            var texts: [EventID: BannerText] = [:]
            var next = records.lazy.filter(\.needsText).map(\.event.id).makeIterator()
            func ask() {
                guard let id = next.next() else { return }
                group.addTask { (id, await text(of: id)) }
            }
            for _ in 0..<Self.callsAtOnce { ask() }
            while let (id, text) = await group.next() {
                texts[id] = text
                ask()
            }
            return texts
        }
    }
}

extension Event {
    /// Whether its banner says more than the event: it has no title, and may get a banner.
    var needsText: Bool { title.isEmpty && window != .zero }
}

extension RecordedEvent {
    var needsText: Bool { event.needsText && outcome != .silent }
}

/// Writes elements in the order in which they arrive, each with the text of a banner if it needs one. Whoever puts an
/// element does not wait for its text, unless many are on their way.
final class OrderedOutput<Element: Sendable>: Sendable {
    private typealias Entry = (element: Element, text: Task<BannerText?, Never>?)

    private let texts: BannerTexts
    private let entries: AsyncStream<Entry>.Continuation
    /// One element for each entry that may be put now.
    private let slots: AsyncStream<Void>
    private let writing: Task<Void, Never>

    init(_ texts: BannerTexts, write: @escaping @Sendable (Element, BannerText?) -> Void) {
        self.texts = texts
        let (queue, entries) = AsyncStream.makeStream(of: Entry.self)
        let (slots, freed) = AsyncStream.makeStream(of: Void.self)
        (self.entries, self.slots) = (entries, slots)
        for _ in 0..<BannerTexts.callsAtOnce { freed.yield() }
        writing = Task {
            for await entry in queue {
                write(entry.element, await entry.text?.value)
                freed.yield()
            }
        }
    }

    /// - Parameter event: the event whose text is needed; `nil`: none.
    func put(_ element: Element, textOf event: EventID?) async {
        for await _ in slots { break }
        entries.yield((element, event.map { [texts] id in Task { await texts.text(of: id) } }))
    }

    /// Waits until everything is written.
    func finish() async {
        entries.finish()
        await writing.value
    }
}

/// Runs `body`, and then waits until everything is written, also if it throws.
func withOrderedOutput<Element: Sendable, Result>(
    _ texts: BannerTexts, write: @escaping @Sendable (Element, BannerText?) -> Void,
    _ body: (OrderedOutput<Element>) async throws -> Result
) async throws -> Result {
    let output = OrderedOutput(texts, write: write)
    do {
        let result = try await body(output)
        await output.finish()
        return result
    } catch {
        await output.finish()
        throw error
    }
}
