public import NotifyText

/// What can happen to a line.
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
    /// The broker accepts no message whose JSON text is longer than this, in bytes. Comes before `connected`, and when
    /// the broker has refused a message because of its length. At least `Message.shortestLimit`.
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
    /// The answer to `publish`, `remove` and `claimNamed`.
    case answered(CallToken, CallResult)
    /// The signal `Event`. It is needed only while `Link.wantsAnnouncements`.
    case announced(AnnouncedEvent)
    /// An event has an outcome, or a hold on it has failed: it need not be released. It is needed only while
    /// `Link.wantsAnnouncements`.
    case decided(EventID)
    /// The signal `ScreensChanged`.
    case screenChanged(TopicPrefix, isAttended: Bool)

    /// The records of a `store` are on disk.
    case stored(StoreToken)
    /// They could not be written.
    case notStored(StoreToken)
    /// `notifyctl link forget DEVICE`.
    case deviceForgotten(Device)
    /// `notifyctl link test`: ask every device that is online whether it is there. `Link.test` has the answers.
    case test(UInt64)
    /// The program is about to end; state is stored. The last input.
    case ending
    /// `notifyctl link leave`. The last input.
    case leave
    /// The timer fired. It may fire early: only due timers have an effect.
    case timerFired
}

/// A message from the broker.
public struct Delivery: Sendable {
    public let address: Address
    /// Whether the broker had retained it: it may be old.
    public let isRetained: Bool
    public let content: Content

    public init(address: Address, isRetained: Bool = false, content: Content) {
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
        /// Opened, but not signed for this topic, or sent in the name of another device.
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

/// Identifies a message on its way to the broker.
public struct MessageToken: Hashable, Sendable { public let rawValue: UInt64 }

/// Identifies a call to notifyd that changes something.
public struct CallToken: Hashable, Sendable { let rawValue: UInt64 }

/// Identifies a reading of the journal.
public struct ReadToken: Hashable, Sendable { let rawValue: UInt64 }

/// Identifies what is written to disk.
public struct StoreToken: Hashable, Sendable { let rawValue: UInt64 }

/// What the shell must do, in the order given.
public enum LinkEffect: Sendable {
    /// Connect with this will, and subscribe to the line. `address` is where the will goes; it is retained.
    case connect(address: Address, will: Message)
    /// End the connection and connect again, with a new will: hand in `connecting`.
    case reconnect
    /// Publish a message on the broker, sealed and signed as the line wants it; `nil` empties the topic. Retained if
    /// the address says so. QoS 1.
    case send(MessageToken, Address, Message?)
    /// Read from the broker, or stop for a while.
    case receive(Bool)
    /// Subscribe again, so that the broker sends what it has retained.
    case subscribeAgain

    /// Call `Publish` with an event that has `ttl` seconds left; 0: it has expired. The window is in milliseconds;
    /// `nil`: the route's. Calls reach notifyd in the order of the effects.
    case publish(CallToken, SharedEvent, ttl: UInt32, window: UInt32?)
    /// Call `Publish` with `remove`.
    case remove(CallToken, SharedRemoval)
    /// Call `ClaimNamed`. `expires` is by the clock of this device.
    case claimNamed(CallToken, SharedClaim)
    /// Call `ClaimProvisionally`; the answer does not matter.
    case hold(EventID, Duration)
    /// Call `Release`.
    case release(EventID)
    /// Call `Changes`.
    case readChanges(ReadToken, after: UInt64, limit: UInt32)
    /// Find the highest number in the journal.
    case readNewest(ReadToken)

    /// Write records to disk, and the rejected entries so far as dead letters: all or none.
    case store(StoreToken, [Record])
    /// Report what notifyd or the broker will never accept, and keep it as a dead letter with the next `store`.
    case reject(RejectedEntry)
    /// The line has failed, and does nothing more than to tell a second machine of it. Until `disconnect` it wants to
    /// be connected.
    case fail(LinkFailure)
    /// Disconnect, without the will, and do not connect again.
    case disconnect
    /// Hand in `timerFired` at this moment; replaces the earlier one.
    case armTimer(Uptime)
}

/// What notifyd or the broker will never accept.
public struct RejectedEntry: Equatable, Sendable {
    public let device: Device
    /// The error, or what is wrong with the message.
    public let reason: String
    /// `nil` where it could not be read.
    public let entry: StreamEntry?

    /// The message that had it, in JSON.
    public var content: [UInt8] { entry.map { Message(device: device, at: 0, body: .entry($0)).encoded } ?? [] }
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
