/// Counts the lines of a connection that are no messages, empty ones among them. A server of ntfy says hardly any.
public struct StrangeLines: Equatable, Sendable {
    /// So many are borne.
    public static let maximum = 20
    /// So many messages make up for one line that is none.
    public static let messagesForOne = 20

    private var count = 0
    private var messages = 0

    public init() {}

    /// Whether the connection is to be given up.
    public var areTooMany: Bool { count > Self.maximum }

    /// Lines have come that are no messages.
    public mutating func add(_ lines: Int = 1) { count += lines }

    /// A message has come.
    public mutating func addMessage() {
        messages += 1
        if messages.isMultiple(of: Self.messagesForOne) { count = max(count - 1, 0) }
    }
}
