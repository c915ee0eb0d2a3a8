package import NotifyJSON
public import Routing

/// An event made of a push.
public struct PushEvent: Sendable {
    public var topic: Topic
    public var title: String
    public var body: String
    /// 0 low, 1 normal, 2 critical; `nil` if the sender does not say.
    public var urgency: UInt8?
    /// Whether it has no banner.
    public var isSilent = false
    /// It takes the place of the earlier event with the same text.
    public var collapse: String?
    /// By which repeats are told that the sender has sent twice; `nil` if it has none.
    public var id: String?
    /// Texts, numbers and truth values by name.
    package var fields: [JSON.Member]
}

/// Why no event can be made of a push. It holds nothing of its text.
public struct PushError: Error, Equatable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
