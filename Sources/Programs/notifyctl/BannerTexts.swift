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
