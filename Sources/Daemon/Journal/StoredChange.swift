public import Routing

/// An entry of `Changes`.
public struct StoredChange: Sendable, Equatable {
    public enum Content: Sendable, Equatable {
        /// An event was accepted.
        case event(StoredEvent)
        /// An event got the outcome that it has now.
        case outcome(StoredEvent)
        /// An event was marked as read, and keeps its outcome.
        case read(StoredEvent, by: String, at: Int64)
        /// A topic has no current value any more.
        case removed(StoredRemoval)
    }

    /// Numbers grow in the order of the commits.
    public var number: UInt64
    public var content: Content

    init(_ number: Int64, _ content: Content) {
        self.number = UInt64(clamping: number)
        self.content = content
    }

    /// The event, or the removal itself.
    public var id: EventID {
        switch content {
        case .event(let event), .outcome(let event), .read(let event, by: _, at: _): event.id
        case .removed(let removal): removal.id
        }
    }

    /// About how many bytes it takes.
    public var memoryCost: Int {
        if case .event(let event) = content { event.memoryCost } else { 512 }
    }
}

/// The removal of a current value.
public struct StoredRemoval: Sendable, Equatable {
    /// Its own id.
    public var id: EventID
    public var topic: Topic
    public var origin: Origin
    /// When it was published; `nil`: the lifetime of the value ended.
    public var published: Int64?
    /// When it came in.
    public var removed: Int64
}
