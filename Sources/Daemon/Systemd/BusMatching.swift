internal import CSystemd
import Glibc

/// Which messages are handled, and by whom.
extension BusConnection {
    /// Passes every message that matches the rule and comes from the sender to `action`, as long as the slot exists.
    /// The rule is installed without waiting, because the bus handles messages in order.
    ///
    /// - Parameter rule: without type and sender.
    public func match(
        signal rule: String, from sender: ExpectedSender, _ action: @escaping (borrowing BusMessage) -> Void
    ) throws(SystemdError) -> BusSlot {
        let slot = BusSlot { message in
            if sender.matches(message.sender) { action(message) }
            return false
        }
        try check(
            sd_bus_add_match_async(
                raw, &slot.raw, "type='signal',sender='\(sender.name)',\(rule)", onMessage, onInstalled, slot.context),
            "sd_bus_add_match_async")
        return slot
    }

    /// Passes every change of a name's owner to `action`, with the new owner or `nil`.
    ///
    /// - Parameter rule: restricts the match, such as `arg0='org.example'`.
    public func matchOwnerChanges(
        _ rule: String, _ action: @escaping (_ name: String, _ owner: String?) -> Void
    ) throws(SystemdError) -> BusSlot {
        try match(
            signal: "path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',\(rule)",
            from: .bus
        ) { message in
            guard let name = try? message.readString(), (try? message.skip("s")) != nil,
                let owner = try? message.readString()
            else { return }
            action(name, owner.isEmpty ? nil : owner)
        }
    }

    /// Passes every call to an object to `action` before the object's interfaces, as long as the slot exists. `action`
    /// returns whether it has handled the call; sd_bus_add_object(3).
    public func intercept(path: String, _ action: @escaping (borrowing BusMessage) -> Bool) -> BusSlot {
        let slot = BusSlot(action)
        must(sd_bus_add_object(raw, &slot.raw, path, onMessage, slot.context), "sd_bus_add_object")
        return slot
    }

    /// Passes every message to `action` first, as long as the slot exists. `action` returns whether it has handled the
    /// message; sd_bus_add_filter(3).
    public func filter(_ action: @escaping (borrowing BusMessage) -> Bool) -> BusSlot {
        let slot = BusSlot(action)
        must(sd_bus_add_filter(raw, &slot.raw, onMessage, slot.context), "sd_bus_add_filter")
        return slot
    }

    /// Makes sd-bus handle a message again that a filter has taken. Do not call it from a handler. See
    /// sd_bus_enqueue_for_read(3).
    public func redeliver(_ message: borrowing BusMessage) {
        // `onDisconnect` handles a lost connection.
        guard sd_bus_enqueue_for_read(raw, message.raw) >= 0 else { return }
        redelivered.insert(message.raw)
        // Each step writes or handles one message; messages read earlier come first.
        while redelivered.contains(message.raw), sd_bus_process(raw, nil) > 0 {}
    }

    /// Whether a filter has got this message by `redeliver`; true once.
    public func isRedelivered(_ message: borrowing BusMessage) -> Bool { redelivered.remove(message.raw) != nil }

    /// Passes every call to `action` only, as long as the slot exists, except those to `org.freedesktop.DBus.Peer`.
    public func filterCalls(_ action: @escaping (borrowing BusMessage) -> Void) -> BusSlot {
        filter { message in
            guard message.isCall(), !message.isCall(on: "org.freedesktop.DBus.Peer") else { return false }
            action(message)
            return true
        }
    }

    /// Reports the end of the connection, by a message that sd-bus makes itself, or a protocol error.
    public func onDisconnect(_ action: @escaping () -> Void) throws(SystemdError) -> BusSlot {
        onFailure = action
        return try match(
            signal:
                "path='/org/freedesktop/DBus/Local',interface='\(ExpectedSender.libraryName)',member='Disconnected'",
            from: .library
        ) { _ in action() }
    }
}

/// A subscription to messages, which ends with this object.
public final class BusSlot {
    var raw: OpaquePointer?
    /// Returns whether it has handled the message.
    let action: (borrowing BusMessage) -> Bool

    init(_ action: @escaping (borrowing BusMessage) -> Bool) { self.action = action }

    deinit { sd_bus_slot_unref(raw) }

    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    func deliver(_ message: OpaquePointer) -> Bool { action(BusMessage(retaining: message)) }
}

/// The reply to the installation of a match rule. Without this handler an error reply, even of another connection,
/// would end the connection.
private let onInstalled: sd_bus_message_handler_t = { message, _, _ in
    let message = BusMessage(retaining: message!)
    // The bus refuses a rule only if we have installed too many, which is a bug.
    if message.sender == ExpectedSender.busName { precondition(!message.isError, "the bus takes our match rules") }
    return 0
}

private let onMessage: sd_bus_message_handler_t = { message, context, _ in
    let slot = Unmanaged<BusSlot>.fromOpaque(context!).takeUnretainedValue()
    return slot.deliver(message!) ? 1 : 0
}

/// The sender that a match accepts messages from.
///
/// The bus checks the sender in a match rule only for broadcasts, not for signals with a destination, and sd-bus
/// accepts any unique name for a well-known one. So the sender of each message is checked here.
public enum ExpectedSender {
    /// The message bus itself.
    case bus
    /// sd-bus itself, about its connection.
    case library
    /// The owner of a well-known name. The closure returns its unique name, or `nil`.
    case owner(of: String, () -> String?)

    static let busName = "org.freedesktop.DBus"
    static let libraryName = "org.freedesktop.DBus.Local"

    /// The name for the match rule.
    var name: String {
        switch self {
        case .bus: Self.busName
        case .library: Self.libraryName
        case .owner(of: let name, _): name
        }
    }

    /// Whether a message with this sender comes from the sender. The bus writes the sender, and no peer can change it.
    func matches(_ sender: String) -> Bool {
        switch self {
        case .bus: sender == Self.busName
        case .library: sender == Self.libraryName
        case .owner(_, let owner): sender == owner()
        }
    }

    /// Whether a reply may come from this sender. A call to a well-known name accepts replies of any connection, so
    /// important calls go to a unique name.
    static func mayReply(_ sender: String, callTo destination: String, isError: Bool) -> Bool {
        if sender == destination { return true }
        if sender == busName { return isError }
        return destination != busName && !destination.hasPrefix(":")
    }
}
