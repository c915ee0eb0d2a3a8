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
            return try await client.notStarting.render(id, within: Self.timeout)
        } catch {
            if error.name == NotifyError.unknownMethod { isOld.withLock { $0 = true } }
            return nil
        }
    }

    /// The texts of those events that need one, by id.
    func texts(of records: [RecordedEvent]) async -> [EventID: BannerText] {
        let ids = records.filter(\.needsText).map(\.event.id)
        let texts = await concurrently(ids) { await text(of: $0) }
        return Dictionary(uniqueKeysWithValues: zip(ids, texts)).compactMapValues(\.self)
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
///
/// - Parameter body: puts elements, each with the event whose text is needed, if one is. When it ends, also by an
///   error, everything is written.
func withOrderedOutput<Element: Sendable, Result>(
    _ texts: BannerTexts, write: @escaping @Sendable (Element, BannerText?) -> Void,
    _ body: (_ put: (Element, EventID?) async -> Void) async throws -> Result
) async throws -> Result {
    let (queue, entries) = AsyncStream.makeStream(of: (Element, Task<BannerText?, Never>?).self)
    // One element for each entry that may be put now.
    let (slots, freed) = AsyncStream.makeStream(of: Void.self)
    for _ in 0..<BannerTexts.callsAtOnce { freed.yield() }
    let writing = Task {
        for await (element, text) in queue {
            write(element, await text?.value)
            freed.yield()
        }
    }
    let result: Swift.Result<Result, any Error>
    do {
        result = .success(
            try await body { element, event in
                for await _ in slots { break }
                entries.yield((element, event.map { id in Task { await texts.text(of: id) } }))
            })
    } catch {
        result = .failure(error)
    }
    entries.finish()
    await writing.value
    return try result.get()
}

/// Does the same for every element, for some of them at a time.
///
/// - Returns: the results in the order of the elements.
/// - Throws: the first error; the other calls are cancelled then.
func concurrently<Element: Sendable, Output: Sendable, Failure: Error>(
    _ elements: [Element], atOnce count: Int = BannerTexts.callsAtOnce,
    _ body: @escaping @Sendable (Element) async throws(Failure) -> Output
) async throws(Failure) -> [Output] {
    let outputs = await withTaskGroup(of: (Int, Result<Output, Failure>).self) { group in
        var outputs: [Int: Output] = [:]
        var next = elements.enumerated().makeIterator()
        func begin() {
            guard let (index, element) = next.next() else { return }
            group.addTask {
                do throws(Failure) { return (index, .success(try await body(element))) } catch {
                    return (index, .failure(error))
                }
            }
        }
        for _ in 0..<count { begin() }
        while let (index, result) = await group.next() {
            switch result {
            case .success(let output): outputs[index] = output
            case .failure(let error):
                group.cancelAll()
                return Result<[Int: Output], Failure>.failure(error)
            }
            begin()
        }
        return .success(outputs)
    }
    return try outputs.get().sorted { $0.key < $1.key }.map(\.value)
}
