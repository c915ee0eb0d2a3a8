internal import CSystemd
import Glibc

/// A D-Bus error: a name for programs and a sentence for people.
public struct BusFailure: Error, Equatable, CustomStringConvertible {
    public let name: String
    public let text: String

    public init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    public var description: String { "\(name): \(text)" }

    /// The bus knows no connection that owns the name.
    public var isNoOwner: Bool { name == "org.freedesktop.DBus.Error.NameHasNoOwner" }

    /// No reply came in time. Proxies may use the second name.
    public var isTimeout: Bool { name == Self.noReply.name || name == "org.freedesktop.DBus.Error.Timeout" }

    static let noReply = BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "no answer came in time")
}

/// A connection to a message bus, sd-bus(3), attached to a loop. File descriptors are neither sent nor accepted.
public final class BusConnection {
    let raw: OpaquePointer
    private var writeQueue = WriteQueue()
    private var pump: BusPump?
    private var onFailure: () -> Void = {}
    private var calls = PendingCalls()
    /// Calls that could not be sent.
    private var unsent: UInt64 = 0
    /// Messages to be redelivered. sd-bus keeps them until then.
    private var redelivered: Set<OpaquePointer> = []
    /// The filter for replies.
    private var answers: BusSlot?

    /// Connects and says hello.
    ///
    /// - Parameters:
    ///   - address: a D-Bus server address such as `unix:path=/run/user/1000/bus`.
    ///   - waits: whether to wait for the bus's reply; otherwise `onDisconnect` reports a bus that does not reply.
    public init(address: String, waits: Bool = true) throws(SystemdError) {
        var bus: OpaquePointer?
        try check(sd_bus_new(&bus), "sd_bus_new")
        raw = bus!
        try check(sd_bus_set_address(raw, address), "sd_bus_set_address")
        try check(sd_bus_set_bus_client(raw, 1), "sd_bus_set_bus_client")
        try check(sd_bus_negotiate_fds(raw, 0), "sd_bus_negotiate_fds")
        try check(sd_bus_start(raw), "sd_bus_start")
        try watchAnswers()
        limitSendBuffer()
        guard waits else { return }
        // Reading the name waits for the reply to Hello.
        var name: UnsafePointer<CChar>?
        try check(sd_bus_get_unique_name(raw, &name), "sd_bus_get_unique_name")
    }

    /// sd-bus requests a socket buffer of 8 MiB. Bytes in it delay every later reply and are not counted by
    /// `queuedBytes`; see socket(7).
    private func limitSendBuffer() {
        var bytes: CInt = 128 << 10
        // Only a matter of speed.
        _ = setsockopt(sd_bus_get_fd(raw), SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<CInt>.size))
    }

    /// A connection without a bus: messages can be written and read back, but not sent. For tests.
    package init(toNobody _: Void) throws(SystemdError) {
        let nothing = try check(open("/dev/null", O_RDWR | O_CLOEXEC), "open")
        var bus: OpaquePointer?
        try check(sd_bus_new(&bus), "sd_bus_new")
        raw = bus!
        try check(sd_bus_set_fd(raw, nothing, nothing), "sd_bus_set_fd")
        try check(sd_bus_start(raw), "sd_bus_start")
    }

    deinit {
        pump = nil
        answers = nil
        sd_bus_flush_close_unref(raw)
    }

    /// From now on the loop reads and writes for this connection, with priority over timers.
    ///
    /// - Parameter delegate: schedules messages between two reads.
    public func attach(to loop: EventLoop, delegate: (any BusPumpDelegate)? = nil) throws(SystemdError) {
        pump = try BusPump(self, loop: loop, delegate: delegate) { [unowned self] in onFailure() }
    }

    /// Lets the delegate handle more of what has been read, after it had nothing to handle.
    public func resume() { pump?.resume() }

    /// Takes ``resume()`` back: everything is handled.
    public func pause() { pump?.pause() }

    /// Requests a well-known name, without queueing for it and without allowing replacement. Waits for the bus.
    /// Messages before its reply are handled later: dbus-daemon delivers the calls that have started this process
    /// first.
    ///
    /// - Throws: an error with `isNameTaken` if the name has an owner.
    public func requestName(_ name: String) throws(SystemdError) {
        let doNotQueue: UInt32 = 4
        var code = EPERM
        // sd_bus_call(3) accepts a reply from any connection, and does not report the sender of an error. A repeated
        // call has another serial number, which an attacker would have to guess again.
        for _ in 1...16 {
            let request = busCall("RequestName", about: name)
            request.append(doNotQueue, as: "u")
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            var reply: OpaquePointer?
            code = -sd_bus_call(raw, request.raw, 25_000_000, &error, &reply)
            guard let reply else {
                if error.name == nil || code == ETIMEDOUT { break }
                continue
            }
            let answer = BusMessage(adopting: reply)
            guard ExpectedSender.bus.matches(answer.sender) else { continue }
            let result: UInt32 = try answer.readNumber("u")
            // 1: this connection has become the owner; 4: it was the owner before.
            guard result == 1 || result == 4 else { throw SystemdError(code: EEXIST, call: "RequestName") }
            return
        }
        throw SystemdError(code: max(code, EPERM), call: "RequestName")
    }

    /// The id of this bus, which differs from that of an earlier bus at the same address; 32 hexadecimal digits.
    public func id() throws(SystemdError) -> String {
        var id = sd_id128_t()
        try check(sd_bus_get_bus_id(raw, &id), "sd_bus_get_bus_id")
        var text = [CChar](repeating: 0, count: 33)
        return String(cString: sd_id128_to_string(id, &text))
    }

    /// The unique name of a name's owner, or `nil`. Waits for the bus, but for no peer, and handles messages before
    /// its reply.
    public func owner(of name: String) throws(SystemdError) -> String? {
        let answer = try ask(busCall("GetNameOwner", about: name))
        if answer.message.failure?.isNoOwner == true { return nil }
        return try answer.message.readString()
    }

    /// Calls the bus itself, and waits for its reply.
    private func ask(_ question: consuming BusMessage) throws(SystemdError) -> RetainedMessage {
        var answer: RetainedMessage?
        call(question, timeout: .seconds(25)) { answer = RetainedMessage(retaining: $0) }
        while true {
            let isBusy = try check(sd_bus_process(raw, nil), "sd_bus_process") > 0
            if let answer { return answer }
            if !isBusy { try check(sd_bus_wait(raw, 1_000_000), "sd_bus_wait") }
            expireCalls()
            if let answer { return answer }
        }
    }

    /// Sends all queued messages and waits.
    public func flush() {
        // A lost connection cannot be flushed, which does not matter here.
        sd_bus_flush(raw)
    }

    /// Messages that the bus has not taken yet.
    public var queuedMessages: Int {
        var count: UInt64 = 0
        // `onDisconnect` handles a lost connection.
        return sd_bus_get_n_queued_write(raw, &count) < 0 ? 0 : Int(count)
    }

    /// About how many bytes they have.
    public var queuedBytes: Int {
        writeQueue.settle(queued: queuedMessages)
        return writeQueue.bytes
    }

    // MARK: Sending

    public func signal(path: String, interface: String, member: String) -> BusMessage {
        var message: OpaquePointer?
        let result = path.withCString { path in
            interface.withCString { interface in
                member.withCString { sd_bus_message_new_signal(raw, &message, path, interface, $0) }
            }
        }
        must(result, "sd_bus_message_new_signal")
        return BusMessage(adopting: message!)
    }

    public func methodReturn(to call: borrowing BusMessage) -> BusMessage {
        var message: OpaquePointer?
        must(sd_bus_message_new_method_return(call.raw, &message), "sd_bus_message_new_method_return")
        return BusMessage(adopting: message!)
    }

    public func methodError(to call: borrowing BusMessage, _ failure: BusFailure) -> BusMessage {
        var error = sd_bus_error()
        defer { sd_bus_error_free(&error) }
        sd_bus_error_set(&error, failure.name, failure.text)
        var message: OpaquePointer?
        must(sd_bus_message_new_method_error(call.raw, &message, &error), "sd_bus_message_new_method_error")
        return BusMessage(adopting: message!)
    }

    /// A call.
    ///
    /// - Parameter starting: whether the bus may start the service.
    public func methodCall(
        to destination: String, path: String, interface: String, member: String, starting: Bool = false
    ) -> BusMessage {
        var message: OpaquePointer?
        // A text that is passed as it is would be copied into an array first.
        let result = destination.withCString { destination in
            path.withCString { path in
                interface.withCString { interface in
                    member.withCString {
                        sd_bus_message_new_method_call(raw, &message, destination, path, interface, $0)
                    }
                }
            }
        }
        must(result, "sd_bus_message_new_method_call")
        must(sd_bus_message_set_auto_start(message, starting ? 1 : 0), "sd_bus_message_set_auto_start")
        return BusMessage(adopting: message!)
    }

    /// Sends a reply or a signal. `onDisconnect` reports a lost connection, not this.
    ///
    /// - Parameter bytes: about how long the message is.
    public func send(_ message: borrowing BusMessage, bytes: Int = 0) throws(SystemdError) {
        try check(sd_bus_send(raw, message.raw, nil), "sd_bus_send")
        writeQueue.sent(bytes, queued: queuedMessages)
    }

    /// A call to the bus itself with a name as its argument.
    public func busCall(_ member: String, about name: String) -> BusMessage {
        let question = methodCall(
            to: ExpectedSender.busName, path: "/org/freedesktop/DBus", interface: ExpectedSender.busName, member: member
        )
        question.append(name)
        return question
    }

    /// Sends a call and passes its reply, or an error after the timeout, to `answer`. Only replies of the destination
    /// and errors of the bus count; a call to a well-known name accepts a reply of any connection. A call that cannot
    /// be sent is answered like one that times out; `onDisconnect` reports a lost connection, not this.
    ///
    /// - Parameter timeout: `nil`: the call waits as long as it takes, and needs no timer.
    public func call(
        _ message: consuming BusMessage, timeout: Duration?, _ answer: @escaping (borrowing BusMessage) -> Void
    ) {
        let destination = message.destination
        var cookie: UInt64 = 0
        var timeout = timeout
        if sd_bus_send(raw, message.raw, &cookie) < 0 {
            unsent += 1
            (cookie, timeout) = (.max - unsent, timeout ?? .seconds(1))
            // An error can only be made for a sealed call; it may be sealed.
            _ = sd_bus_message_seal(message.raw, cookie, 0)
        }
        guard let timeout else { return calls.add(cookie, nil, to: destination, deadline: .max, answer) }
        calls.add(cookie, RetainedMessage(message), to: destination, deadline: Self.deadline(after: timeout), answer)
    }

    /// Microseconds of the monotonic clock.
    private static func deadline(after timeout: Duration) -> UInt64 {
        let (seconds, attoseconds) = timeout.components
        return UInt64(Clock.monotonic() + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    private func watchAnswers() throws(SystemdError) {
        let slot = BusSlot { [unowned self] message in
            guard let cookie = message.answeredCookie else { return false }
            guard let answer = calls.take(cookie, from: message.sender, isError: message.isError) else { return true }
            answer(message)
            return true
        }
        try check(sd_bus_add_filter(raw, &slot.raw, onMessage, slot.context), "sd_bus_add_filter")
        answers = slot
    }

    /// When the next call times out; microseconds of the monotonic clock.
    var earliestDeadline: UInt64 { calls.earliestDeadline }

    /// Completes the calls that have timed out with an error.
    func expireCalls() {
        guard calls.earliestDeadline < .max else { return }
        for (call, answer) in calls.takeDue(at: UInt64(Clock.monotonic())) {
            answer(methodError(to: call.message, .noReply))
        }
    }

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

    /// Sends the signal `PropertiesChanged` of the specification.
    public func propertiesChanged(path: String, interface: String, _ names: [String]) {
        var pointers = names.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        pointers.append(nil)
        pointers.withUnsafeMutableBufferPointer { names in
            // Fails without a connection, which `onDisconnect` handles.
            _ = sd_bus_emit_properties_changed_strv(raw, path, interface, names.baseAddress)
        }
    }
}

/// A subscription to messages, which ends with this object.
public final class BusSlot {
    fileprivate var raw: OpaquePointer?
    /// Returns whether it has handled the message.
    fileprivate let action: (borrowing BusMessage) -> Bool

    fileprivate init(_ action: @escaping (borrowing BusMessage) -> Bool) { self.action = action }

    deinit { sd_bus_slot_unref(raw) }

    fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    fileprivate func deliver(_ message: OpaquePointer) -> Bool { action(BusMessage(retaining: message)) }
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
