public import LinkMessages
public import Routing

/// Everything that can happen to a line.
public enum LinkInput: Sendable {
    /// The program has started. The first input.
    case started
    /// The shell is about to connect and wants the will of the connection: `LinkEffect.connect` has it.
    case connecting
    /// The broker has accepted the connection, and the subscription is made.
    case connected
    /// The connection is gone. Everything that was not acknowledged may be lost.
    case disconnected
    /// A message came.
    case received(Delivery)
    /// The broker has acknowledged a message.
    case acknowledged(MessageToken)
    /// The broker takes no message whose JSON text is longer than this, in bytes. Before `connected`, and when it has
    /// refused one because of its length. At least `Message.shortestLimit`.
    case textLimited(Int)

    /// notifyd is there, for the first time or again.
    case daemonAppeared
    /// notifyd is gone. Calls without an answer have none.
    case daemonVanished
    /// There are new rows.
    case journalChanged
    /// The answer to `readChanges`.
    case changes(ReadToken, ChangesPage)
    /// There is no answer to `readChanges` or `readNewest`.
    case readFailed(ReadToken)
    /// The answer to `readNewest`: the highest number in the journal.
    case newest(UInt64)
    /// The answer to `publish` and `claimNamed`.
    case answered(CallToken, CallResult)
    /// The signal `Event`. It is needed only while `Link.wantsAnnouncements`.
    case announced(Announced)
    /// An event has an outcome, or a hold on it has failed: it need not be released. Needed likewise.
    case decided(EventID)
    /// The signal `ScreensChanged`.
    case screenChanged(TopicPrefix, isAttended: Bool)

    /// The records of a `store` are on disk.
    case stored(StoreToken)
    /// They could not be written.
    case notStored(StoreToken)
    /// The configuration has changed. A changed key means that all values are written again.
    case reconfigured(Configuration, keyChanged: Bool)
    /// `notifyctl link forget DEVICE`.
    case deviceForgotten(Device)
    /// `notifyctl link test`: ask every device that is online whether it is there. `Link.test` has the answers.
    case test(UInt64)
    /// The program is about to end: what is worth keeping is stored. The last input.
    case ending
    /// `notifyctl link leave`. The last input.
    case leave
    /// The timer fired. It may fire early: only due timers have an effect.
    case timerFired
}

/// A message from the broker.
public struct Delivery: Sendable {
    /// For `LinkEffect.acknowledge`.
    public var token: DeliveryToken
    public var address: Address
    /// Whether the broker had kept it: it says nothing about the present.
    public var isRetained: Bool
    public var content: Content

    public init(token: DeliveryToken, address: Address, isRetained: Bool = false, content: Content) {
        self.token = token
        self.address = address
        self.isRetained = isRetained
        self.content = content
    }

    /// What came.
    public enum Content: Sendable {
        /// Opened and read. On a channel, with the key whose signature is right.
        case message(Message, signer: Signer?)
        /// Nothing, which empties a retained topic.
        case empty
        /// Opened, and no message.
        case malformed(MessageError)
        /// It could not be opened, or was not sealed though the line has a key.
        case unopened
        /// Opened, but not signed for this topic, or said in the name of another device.
        case forged
    }
}

/// How notifyd answered a call.
public enum CallResult: Equatable, Sendable {
    case done
    /// `LimitExceeded` or `StorageUnavailable`: later it may be possible.
    case refusedForNow
    /// Never: with the name of the error and its message.
    case refused(String)
}

/// Identifies a received message.
public struct DeliveryToken: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Identifies a message on its way to the broker.
public struct MessageToken: Hashable, Sendable { let rawValue: UInt64 }

/// Identifies a call to notifyd that changes something.
public struct CallToken: Hashable, Sendable { let rawValue: UInt64 }

/// Identifies a reading of the journal.
public struct ReadToken: Hashable, Sendable { let rawValue: UInt64 }

/// Identifies what is written to disk.
public struct StoreToken: Hashable, Sendable { let rawValue: UInt64 }
