public import LinkMessages
public import Routing

/// What the shell must do, in the order given.
public enum LinkEffect: Sendable {
    /// Connect with this will, and subscribe to the line. `address` is where the will goes; it is retained.
    case connect(address: Address, will: Message)
    /// End the connection and connect again, with a new will: ask with `connecting`.
    case reconnect
    /// Write a message, sealed and signed as the line wants it; nothing empties the topic. Retained if the address says
    /// so. QoS 1.
    case say(MessageToken, Address, Message?)
    /// Acknowledge a received message: what follows from it is on disk.
    case acknowledge(DeliveryToken)
    /// Read from the broker, or stop for a while.
    case receive(Bool)
    /// Subscribe again, so that the broker sends what it has kept.
    case subscribeAgain

    /// Call `Publish`. Calls reach notifyd in the order of the effects.
    case publish(CallToken, PublishRequest)
    /// Call `ClaimNamed`.
    case claimNamed(CallToken, ClaimRequest)
    /// Call `ClaimProvisionally`; whether it helps is not asked.
    case hold(EventID, Duration)
    /// Call `Release`.
    case release(EventID)
    /// Call `Changes`.
    case readChanges(ReadToken, after: UInt64, limit: UInt32)
    /// Find the highest number in the journal.
    case readNewest(ReadToken)

    /// Write records to disk, all or none.
    case store(StoreToken, [Record])
    /// Keep what notifyd will never take, and tell of it.
    case keep(DeadLetter)
    /// The line has failed, and does nothing more than to tell a second machine of it. Until `end` it wants to be
    /// connected.
    case fail(LinkFailure)
    /// Disconnect, without the will, and do not connect again.
    case end
    /// Hand in `timerFired` at this moment; replaces the one asked for before.
    case armTimer(Uptime)
}

/// The arguments of `Publish`.
public struct PublishRequest: Equatable, Sendable {
    public var name: GlobalName
    /// The line.
    public var via: String
    public var topic: Topic
    public var title = ""
    public var body = ""
    public var fields: [Field] = []
    /// The options for banners.
    public var options: [Field] = []
    /// Microseconds since the epoch, by the publisher's clock.
    public var published: Int64
    /// Seconds that are left of its lifetime; 0: it has expired.
    public var ttl: UInt32 = 0
    public var urgency: UInt8?
    /// `banner`: false for what its publisher wants no banner for.
    public var hasBanner = true
    /// `retain`, with `if-newer`.
    public var isRetained = false
    /// `remove`, with `if-newer`.
    public var isRemoval = false
    /// `window` in milliseconds; `nil`: the route's.
    public var window: UInt32?

    public init(name: GlobalName, via: String, topic: Topic, published: Int64) {
        self.name = name
        self.via = via
        self.topic = topic
        self.published = published
    }
}

/// The arguments of `ClaimNamed`.
public struct ClaimRequest: Equatable, Sendable {
    public var name: GlobalName
    public var via: String
    /// `device`: where, in people's words.
    public var place: String
    public var form: SaidClaim.Form
    /// By this device's clock; `nil`: not known.
    public var expires: Int64?

    public init(name: GlobalName, via: String, place: String, form: SaidClaim.Form, expires: Int64? = nil) {
        self.name = name
        self.via = via
        self.place = place
        self.form = form
        self.expires = expires
    }
}

/// What notifyd will never take.
public struct DeadLetter: Equatable, Sendable {
    public var device: Device
    /// The error, or what is wrong with the message.
    public var reason: String
    /// The message, where it could be read.
    public var said: Said?
}

/// Why a line has failed.
public enum LinkFailure: Equatable, Sendable, CustomStringConvertible {
    /// Rule 9 of docs/link.md.
    case twoMachines
    /// A journal was restored from a backup while the clock was behind: it gives out numbers that other devices have
    /// taken already.
    case numbersFellBack

    public var description: String {
        switch self {
        case .twoMachines:
            "two machines share one device; \"notifyctl link reset\" on each of them gives it a new one"
        case .numbersFellBack:
            "the journal is older than what this device has said; \"notifyctl link reset\" gives it a new device"
        }
    }
}
