public import NotifyText

/// Everything a client can make grow has a limit with a name.
public struct Limits: Sendable {
    /// The lifetime of events where neither publisher nor route sets one.
    public static let defaultLifetime: Duration = .seconds(12 * 3600)
    /// The longest lifetime of an event.
    public static let maximumLifetime: Duration = .maximumLifetime
    /// The longest window.
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
    /// Undecided events.
    public var undecidedEvents = 100_000
    /// Undecided events of one program. A program keeps its limits when it connects again; programs that the bus cannot
    /// tell share them.
    public var undecidedEventsPerProgram = 10_000
    /// Undecided events that are kept as they came; further ones are packed, and take less memory.
    public var unpackedEvents = 1_000
    /// Memory cost of undecided events in bytes; see `Event.memoryCost`.
    public var undecidedBytes = 64 << 20
    /// Memory cost of one program's undecided events in bytes.
    public var undecidedBytesPerProgram = 16 << 20
    /// Topics with a current value.
    public var values = 10_000
    /// Memory cost of all current values in bytes; one message must hold them.
    public var valueBytes = 16 << 20
    /// Topics whose last removal is remembered, so that an older value does not come back; the oldest are forgotten
    /// first.
    public var removals = 10_000
    /// How long a removal is remembered.
    public var removalTime: Duration = .seconds(28 * 24 * 3600)
    /// Open screens.
    public var screens = 10_000
    /// Open screens of one connection.
    public var screensPerConnection = 256
    /// Open screens of one program.
    public var screensPerProgram = 2_500
    /// Awaited answers of asking screens: one for each event and screen.
    public var questions = 250_000
    /// Topic claims whose grace has not ended.
    public var graces = 10_000
    /// Topic claims of one program whose grace has not ended.
    public var gracesPerProgram = 1_000
    /// The longest grace.
    public var maximumGrace: Duration = .seconds(10)
    /// Claimants that hold one event.
    public var holdersOfEvent = 16
    /// Provisional claims that wait for their confirmation.
    public var holds = 50_000
    /// Those of one program.
    public var holdsPerProgram = 10_000
    /// The longest time to confirm a provisional claim.
    public var maximumHold: Duration = .seconds(600)
    /// Names that are claimed before their events have come.
    public var awaited = 50_000
    /// Those of one program.
    public var awaitedPerProgram = 10_000
    /// Memory cost of all of them in bytes; see `NamedClaim.memoryCost`.
    public var awaitedBytes = 32 << 20
    /// Memory cost of one program's in bytes.
    public var awaitedBytesPerProgram = 8 << 20
    /// How long such an event is awaited at least.
    public var minimumAwait: Duration = .seconds(24 * 3600)
    /// How long such an event is awaited at most: as long as an event may live.
    public var maximumAwait: Duration = Limits.maximumLifetime
    /// Muted topics.
    public var mutes = 1_000
    /// Periods of schedules that owe a digest.
    public var digests = 10_000
    /// Snoozed events.
    public var snoozes = 1_000
    /// Memory cost of those in bytes.
    public var snoozeBytes = 4 << 20
    /// The shortest snooze.
    public var minimumSnooze: Duration = .seconds(60)
    /// The longest snooze.
    public var maximumSnooze: Duration = .seconds(7 * 24 * 3600)
    /// Timed-out calls whose late answers are recognised; the oldest are forgotten first.
    public var timedOutCalls = 64
    /// Shown events that a late claim can still retract; the oldest are forgotten first.
    public var retractableEvents = 20_000
    /// Memory cost of those in bytes.
    public var retractableBytes = 16 << 20
    /// Global ids (source and event-id) that are kept to recognise duplicates.
    public var globalIDs = 100_000
    /// Memory cost of those in bytes; the oldest are forgotten first.
    public var globalIDBytes = 16 << 20
    /// How long a duplicate is recognised.
    public var deduplicationTime: Duration = .seconds(24 * 3600)

    public init() {}
}

/// Estimates memory use in bytes: an upper bound that is quick to compute, and the same after a restart, so that events
/// accepted under a limit fit again.
public enum MemoryCost {
    /// What an undecided event costs beside its text and fields: entries in the router's tables, its window and its
    /// timers. Measured with 100,000 events: half of that.
    static let event = 512
    /// What a global id costs beside its text: an entry each in a table and a queue, both with spare capacity.
    static let globalID = 192
    /// What a `collapse` costs beside its text: the key, and its entry in a table.
    static let collapse = 192
    /// What the claim of an event that has not come costs beside its texts: entries in a table and in a queue of
    /// timers.
    static let awaited = 640
    /// What a provisional claim, a screen and a topic claim with a grace cost at most, the last two beside their
    /// topics.
    static let hold = 256
    static let screen = 768
    static let grace = 512
    /// What a remembered removal costs beside its texts.
    static let removal = 256
    /// What an answer costs that a screen owes.
    static let question = 24
    /// The overhead of a string on the heap.
    static let text = 32

    /// The cost of an event with these contents.
    public static func ofEvent(
        topic: Topic, title: String, body: String, fields: [Field], origin: Origin, collapse: String? = nil,
        appearance: [Field] = []
    ) -> Int {
        (collapse.map { Self.collapse + $0.utf8.count } ?? 0) + event + topic.description.utf8.count + title.utf8.count
            + body.utf8.count + origin.textBytes
            + fields.reduce(0) { $0 + $1.memoryCost } + appearance.reduce(0) { $0 + $1.memoryCost }
    }
}

extension Publication {
    /// What it costs in memory while its call waits.
    public var memoryCost: Int {
        max(
            size,
            MemoryCost.ofEvent(
                topic: topic, title: title, body: body, fields: fields, origin: options.origin,
                collapse: options.collapse, appearance: options.appearance))
    }
}

extension NamedClaim {
    /// What it costs in memory while its event is awaited.
    var memoryCost: Int {
        let texts = [origin.source, origin.eventID, claimant, place.device, place.via].compactMap(\.self)
        return MemoryCost.awaited + texts.reduce(0) { $0 + MemoryCost.text + $1.utf8.count }
            + identity.reduce(0) { $0 + $1.memoryCost }
    }
}

extension Origin {
    var textBytes: Int { (source?.utf8.count ?? 0) + (eventID?.utf8.count ?? 0) + (via?.utf8.count ?? 0) }
}

extension Field {
    fileprivate var memoryCost: Int {
        MemoryLayout<Field>.stride + MemoryCost.text + name.utf8.count + value.memoryCost
    }
}

extension FieldValue {
    /// The cost on the heap; the container counts the stride of the value itself.
    fileprivate var memoryCost: Int {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): MemoryCost.text + text.utf8.count
        case .array(_, let elements):
            2 * MemoryCost.text + elements.reduce(0) { $0 + MemoryLayout<FieldValue>.stride + $1.memoryCost }
        case .dictionary(_, _, let pairs):
            2 * MemoryCost.text
                + pairs.reduce(0) { $0 + MemoryLayout<Pair>.stride + $1.key.memoryCost + $1.value.memoryCost }
        case .variant(let value): MemoryCost.text + MemoryLayout<FieldValue>.stride + value.memoryCost
        default: 0
        }
    }
}
