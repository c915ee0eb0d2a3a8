/// Whether a topic is on screen: the signal `ScreensChanged`.
public struct Attention: Hashable, Sendable {
    /// The topic, exactly; `/` stands for every topic.
    public var topic: String
    /// Whether a screen that suppresses banners, in a session that is neither locked nor idle, stands at this topic.
    public var isAttended: Bool

    public init(topic: String, isAttended: Bool) {
        self.topic = topic
        self.isAttended = isAttended
    }
}

extension Attention: Announced {
    static let signal = "ScreensChanged"

    /// From the arguments of the signal: `s b`.
    init?(arguments: [Value]) {
        guard arguments.count >= 2, case .string(let topic) = arguments[0], case .boolean(let flag) = arguments[1]
        else {
            return nil
        }
        self.init(topic: topic, isAttended: flag)
    }
}
