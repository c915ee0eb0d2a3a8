/// Messages that wait for their pictures. They have few places of their own: a message that finds none goes without its
/// picture, so that pictures that never come hold up no other message.
public struct PictureWaits<Item> {
    /// So many pictures are fetched at most.
    public static var maximum: Int { 8 }

    private var items: [UInt64: Item] = [:]
    /// Also of messages that do not wait any more.
    private var fetches = 0

    public init() {}

    /// Whether one more picture may be fetched.
    public var hasPlace: Bool { fetches < Self.maximum }

    /// A picture is fetched, and its message waits.
    public mutating func begin(_ ticket: UInt64, _ item: Item) {
        fetches += 1
        items[ticket] = item
    }

    /// A picture was fetched, or cannot be.
    public mutating func endFetch() { fetches -= 1 }

    /// A message waits no longer.
    ///
    /// - Returns: `nil` if it did not wait.
    public mutating func end(_ ticket: UInt64) -> Item? { items.removeValue(forKey: ticket) }

    /// No message waits any longer.
    public mutating func endAll() -> [Item] {
        defer { items = [:] }
        return Array(items.values)
    }
}
