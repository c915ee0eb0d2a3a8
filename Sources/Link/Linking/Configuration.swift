public import NotifyText

/// What a line is: the private link of a user, or a channel with other people. See docs/link.md.
public struct Configuration: Sendable {
    /// The two kinds of lines.
    public enum Kind: Equatable, Sendable {
        /// All devices of one user.
        case link
        /// Other people too. Only messages signed by the key pinned for their device are accepted; `signer` is this
        /// device's key.
        case channel(name: String, signer: Signer)
    }

    public var kind: Kind
    /// The name of this device, for people; at most 64 bytes.
    public var name: String
    /// The topics that are sent and received: those at or below one of these …
    public var share: [TopicPrefix]
    /// … and at or below none of these.
    public var skip: [TopicPrefix]
    /// Whether the line has a key. Without one no screens are announced.
    public var isSealed: Bool
    /// Whether screens are announced to other devices.
    public var tellsScreens: Bool
    /// The digest of a topic, keyed if the line is sealed. It depends on nothing else.
    public var digest: @Sendable (String) -> Digest
    public var limits: LinkLimits

    public init(
        kind: Kind = .link, name: String, share: [TopicPrefix] = [.all], skip: [TopicPrefix] = [],
        isSealed: Bool, tellsScreens: Bool = true, limits: LinkLimits? = nil,
        digest: @escaping @Sendable (String) -> Digest
    ) {
        self.kind = kind
        self.name = name
        self.share = share
        self.skip = skip
        self.isSealed = isSealed
        self.tellsScreens = tellsScreens
        self.limits = limits ?? (kind == .link ? LinkLimits() : .channel)
        self.digest = digest
    }

    /// The line's name in `via`: `mqtt`, or `mqtt:` and the name of the channel.
    public var line: String {
        switch kind {
        case .link: Self.linkName
        case .channel(let name, _): Self.linkName + ":" + name
        }
    }

    static let linkName = "mqtt"

    var isChannel: Bool { kind != .link }

    func shares(_ topic: Topic) -> Bool {
        share.contains { $0.covers(topic) } && !skip.contains { $0.covers(topic) }
    }

    /// Screens are announced only with a key and only on the private link; rule 15 of docs/link.md.
    var sharesScreens: Bool { kind == .link && isSealed && tellsScreens }
}

/// An Ed25519 public key, as text: who signed a message on a channel. The shell has verified the signature.
public struct Signer: Hashable, Sendable {
    public let rawValue: String

    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

/// Limits of what others can make grow, and times. The defaults and the numbers of rules are those of
/// docs/link.md.
public struct LinkLimits: Sendable {
    /// Devices on a line; rule 11.
    public var devices = 64
    /// Devices that sign with one key on a channel.
    public var devicesPerMember = Int.max
    /// Values on a line; rule 18.
    public var values = 10_000
    /// Values of one member of a channel; rule 11.
    public var valuesPerMember = Int.max
    /// Events a second that a member of a channel may send; 0: no limit. Rule 11.
    public var eventsPerSecond = 0
    /// Events that a member may send at once.
    public var eventBurst = 200
    /// Ranges that are missing of one device; rule 2.
    public var missingRanges = 64
    /// Messages that the broker has not acknowledged; rule 1.
    public var messagesInFlight = 20
    /// Rows after which all devices get a `ping`; as many follow at most before they have answered.
    /// Rule 1.
    public var rowsPerMark = 200
    /// Calls to notifyd without an answer.
    public var callsInFlight = 64
    /// Messages that wait for notifyd. Beyond this the line stops reading.
    public var waitingMessages = 512
    /// Messages that wait for notifyd, at most: what comes when the line does not stop is requested later.
    public var waitingMessagesAtMost = 2048
    /// Their texts in bytes.
    public var waitingBytes = 4 << 20
    /// Rows that are read from the journal at once.
    public var rowsPerPage: UInt32 = 200
    /// Rows that are counted while the broker is away; what is more is not.
    public var countedRows = 100_000
    /// Between two readings of the journal for that.
    public var countInterval: Duration = .milliseconds(100)
    /// Rows that a device gets by questions in a minute. A broker throws away what it has more than its limit of, 1,000
    /// messages for mosquitto: after an outage much of what a device has sent is requested.
    public var answeredRowsPerAsker = 60_000
    /// Rows that all devices get by questions in a minute.
    public var answeredRows = 200_000
    /// Questions that wait to be answered.
    public var waitingQuestions = 64
    /// Events held for a screen elsewhere, or until the line has caught up; rule 16.
    public var holds = 256
    /// The time to confirm a claim by a screen elsewhere; rule 16.
    public var screenHold: Duration = .milliseconds(600)
    /// The longest time for which events wait until the line has caught up; rule 16.
    public var catchingUpHold: Duration = .seconds(60)
    /// The window of an event that comes meanwhile: the hold follows its announcement, and events of one topic share a
    /// window.
    public var catchingUpWindow: Duration = .seconds(2)
    /// How recent the last message of a device must be for its screens to count; rule 16.
    public var screenFreshness: Duration = .seconds(300)
    /// The longest delay before a question; rule 4.
    public var questionDelay: Duration = .seconds(5)
    /// How long an answer is awaited.
    public var questionTimeout: Duration = .seconds(20)
    /// The silence after which the last number of a description counts; rule 4.
    public var silence: Duration = .seconds(2)
    /// Between descriptions; rule 4.
    public var descriptionInterval: Duration = .seconds(10)
    /// Between descriptions, where screens changed; rule 15.
    public var screenInterval: Duration = .seconds(1)
    /// A device unseen for so long is dropped; rule 18.
    public var forgetAfter: Duration = .seconds(30 * 24 * 3600)
    /// How far numbers and times of a channel may be ahead of the clock; rule 11.
    public var ahead: Duration = .seconds(24 * 3600)
    /// How long a removal counts as a value; rule 7.
    public var removalLifetime: Duration = .seconds(28 * 24 * 3600)
    /// After the first connection of a new device: devices from which something comes until then were there before.
    /// Rule 6.
    public var joiningTime: Duration = .seconds(10)
    /// How far the clocks of two devices may be apart, so that messages from before a connection are told from
    /// those of now.
    public var clockTolerance: Duration = .seconds(60)
    /// Between a change and its writing to disk.
    public var flushDelay: Duration = .milliseconds(100)
    /// After connecting, until own values are compared with those of the broker.
    public var valueCheckDelay: Duration = .seconds(5)

    public init() {}

    /// The limits of a channel.
    public static var channel: LinkLimits {
        var limits = LinkLimits()
        limits.devices = 1000
        limits.devicesPerMember = 16
        // Rule 5: others are not of this user.
        limits.answeredRowsPerAsker = 1000
        limits.answeredRows = 5000
        limits.valuesPerMember = 1000
        limits.eventsPerSecond = 20
        limits.questionDelay = .seconds(60)
        limits.questionTimeout = .seconds(90)
        return limits
    }
}
