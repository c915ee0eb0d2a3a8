import NotifyClient

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
