/// Everything a client can make grow has a limit with a name.
public struct Limits: Sendable {
    /// How long an event is worth showing where neither its publisher nor its route says.
    public static let defaultLifetime: Duration = .seconds(12 * 3600)
    /// The longest that an event can be worth showing.
    public static let maximumLifetime: Duration = .seconds(28 * 24 * 3600)
    /// The longest that claims can be awaited.
    public static let maximumWindow: Duration = .seconds(60)

    /// Bytes of UTF-8.
    public var titleBytes = 1024
    /// Bytes of UTF-8.
    public var bodyBytes = 8 * 1024
    /// Bytes of topic, title, body, fields and options together.
    public var messageBytes = 64 * 1024
    /// Fields of one event.
    public var fields = 64
    /// Containers within containers in one field.
    public var nesting = 4
    /// Events that are not decided yet.
    public var openEvents = 100_000
    /// Events of one connection that are not decided yet.
    public var openEventsPerSender = 10_000
    /// Bytes that the undecided events take in memory; see `Event.footprint`.
    public var openBytes = 96 << 20
    /// Bytes that the undecided events of one connection take in memory.
    public var openBytesPerSender = 16 << 20
    /// Topics that have a current value.
    public var values = 10_000
    /// Bytes of all current values, reckoned as for undecided events: they are read in one message.
    public var valueBytes = 16 << 20
    /// Screens that are open.
    public var screens = 10_000
    /// Screens that one connection holds.
    public var screensPerConnection = 256
    /// Answers of asking screens that are awaited: one for each event and screen.
    public var questions = 250_000
    /// Topic claims that still go on.
    public var graces = 10_000
    /// Topic claims of one connection that still go on.
    public var gracesPerConnection = 256
    /// How long a topic claim can go on.
    public var maximumGrace: Duration = .seconds(10)
    /// How long a provisional claim can wait for its confirmation.
    public var maximumHold: Duration = .seconds(600)
    /// Topics that are muted.
    public var mutes = 1_000
    /// Calls to the notification server whose late answers are still understood; the oldest are forgotten first.
    public var overdueCalls = 64
    /// Shown events that a late claim can still retract; the oldest are forgotten first.
    public var retractableEvents = 20_000
    /// Bytes of those in memory, reckoned as for undecided events.
    public var retractableBytes = 16 << 20
    /// Pairs of source and event-id that are remembered to recognise a repeat.
    public var rememberedRepeats = 100_000
    /// Bytes that these pairs take in memory; the oldest are forgotten first.
    public var rememberedRepeatBytes = 24 << 20
    /// How long a repeat is recognised.
    public var repeatMemory: Duration = .seconds(24 * 3600)

    public init() {}
}
