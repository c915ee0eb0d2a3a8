public import Routing

/// An entry of `Changes`.
public struct StoredChange: Sendable, Equatable {
    public enum Content: Sendable, Equatable {
        /// An event was accepted.
        case event(StoredEvent)
        /// An event got the outcome that it has now.
        case outcome(StoredEvent)
        /// An event was marked as read, and keeps its outcome.
        case read(StoredEvent, by: String, at: Int64, from: ClaimPlace)
        /// A topic has no current value any more, or a removal came too late for it.
        case removed(StoredRemoval)
        /// The journal was opened for writing; before that, the highest number in it was `last`.
        case start(last: UInt64)
        /// A number without a row: events were deleted, and their changes with them, or a claim waits for its event.
        case hole
    }

    /// Numbers grow in the order of the commits.
    public var number: UInt64
    public var content: Content

    init(_ number: Int64, _ content: Content) {
        self.number = UInt64(clamping: number)
        self.content = content
    }

    /// The event, or the removal itself; else 0.
    public var id: EventID {
        switch content {
        case .event(let event), .outcome(let event), .read(let event, by: _, at: _, from: _): event.id
        case .removed(let removal): removal.id
        case .start, .hole: EventID(0)
        }
    }

    /// About how many bytes it takes.
    public var memoryCost: Int {
        if case .event(let event) = content { event.memoryCost } else { 512 }
    }
}
