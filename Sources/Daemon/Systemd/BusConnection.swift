internal import CSystemd
import Glibc

/// A connection to a message bus, sd-bus(3), attached to a loop. File descriptors are neither sent nor accepted.
public final class BusConnection {
    let raw: OpaquePointer
    private var writeQueue = WriteQueue()
    private var pump: BusPump?
    var onFailure: () -> Void = {}
    private var calls = PendingCalls()
    /// Calls that could not be sent.
    private var unsent: UInt64 = 0
    /// Messages to be redelivered. sd-bus keeps them until then.
    var redelivered: Set<OpaquePointer> = []
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
        watchAnswers()
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

    private func watchAnswers() {
        answers = filter { [unowned self] message in
            guard let cookie = message.answeredCookie else { return false }
            let answer = calls.take(cookie, from: message.sender, isError: message.isError)
            answer?(message)
            return true
        }
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

/// Schedules messages that it does not handle as they are read.
public protocol BusPumpDelegate: AnyObject {
    /// Whether more should be read now.
    var canRead: Bool { get }
    /// Handles a batch of what has been read; called when there is nothing to read for now.
    ///
    /// - Returns: whether there is more to handle.
    func handleBatch() -> Bool
}

/// Reads and writes for a connection whenever the loop reports it ready, and handles all available messages at once.
///
/// sd_bus_attach_event(3) needs one turn of the loop and one more system call for each message.
final class BusPump {
    /// Messages read before the delegate is called.
    private static let messages = 128

    private let bus: OpaquePointer
    private unowned let connection: BusConnection
    private let onFailure: () -> Void
    /// Lives as long as the loop runs. A weak reference would make all reference counting of the object slower.
    private unowned let delegate: (any BusPumpDelegate)?
    private var input: OpaquePointer?
    private var timer: OpaquePointer?
    /// When the timer goes off; `nil`: it has gone off, or is not set yet.
    private var armedFor: UInt64?
    /// The turn of the loop in which a message was handled last.
    private var lastTurn: UInt64 = 0
    private let loop: EventLoop
    /// Enabled while there are messages to handle.
    private var deferred: OpaquePointer?

    /// - Parameter onFailure: called when the connection fails although the bus has not closed it.
    init(
        _ connection: BusConnection, loop: EventLoop, delegate: (any BusPumpDelegate)?, onFailure: @escaping () -> Void
    ) throws(SystemdError) {
        self.connection = connection
        self.loop = loop
        bus = connection.raw
        self.delegate = delegate
        self.onFailure = onFailure
        let context = Unmanaged.passUnretained(self).toOpaque()
        let descriptor = try check(sd_bus_get_fd(bus), "sd_bus_get_fd")
        try check(sd_event_add_io(loop.raw, &input, descriptor, 0, onReady, context), "sd_event_add_io")
        try check(sd_event_source_set_prepare(input, onPrepare), "sd_event_source_set_prepare")
        // Timeouts of calls may be late by the default accuracy, 250 ms.
        try check(sd_event_add_time(loop.raw, &timer, CLOCK_MONOTONIC, .max, 0, onTime, context), "sd_event_add_time")
        try check(sd_event_add_defer(loop.raw, &deferred, onDeferred, context), "sd_event_add_defer")
        try check(sd_event_source_set_enabled(deferred, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled")
        for source in [input, timer, deferred] {
            try check(sd_event_source_set_priority(source, Priority.messages.rawValue), "sd_event_source_set_priority")
        }
    }

    deinit {
        sd_event_source_disable_unref(input)
        sd_event_source_disable_unref(timer)
        sd_event_source_disable_unref(deferred)
    }

    /// Sets the events and the timeout before the loop waits; sd_bus_get_events(3).
    fileprivate func prepare() {
        var events = sd_bus_get_events(bus)
        // Unread input would wake the loop again and again while queued output is written.
        if events & CInt(POLLOUT) != 0, delegate?.canRead == false { events &= ~CInt(POLLIN) }
        var moment = UInt64.max
        guard events >= 0, sd_bus_get_timeout(bus, &moment) >= 0 else { return stop() }
        must(sd_event_source_set_io_events(input, UInt32(events)), "sd_event_source_set_io_events")
        arm(at: min(moment, connection.earliestDeadline))
    }

    /// The loop prepares for each of its turns, and nearly always for the same moment.
    private func arm(at moment: UInt64) {
        guard moment != armedFor else { return }
        armedFor = moment
        must(sd_event_source_set_time(timer, moment), "sd_event_source_set_time")
        must(sd_event_source_set_enabled(timer, CInt(SD_EVENT_ONESHOT)), "sd_event_source_set_enabled")
    }

    fileprivate func timerFired() {
        armedFor = nil
        drain()
    }

    /// - Parameter canWrite: whether the socket is writable.
    fileprivate func drain(canWrite: Bool = false) {
        // One step of sd-bus writes all it can, and reads a message only if it can write nothing.
        if canWrite, delegate?.canRead == false, sd_bus_process(bus, nil) < 0 {
            stop()
            return onFailure()
        }
        for _ in 0..<mostMessages {
            guard delegate?.canRead ?? true else { break }
            let result = sd_bus_process(bus, nil)
            if result == 0 { break }
            guard result > 0 else {
                stop()
                return onFailure()
            }
        }
        connection.expireCalls()
        if delegate?.handleBatch() == true { resume() }
    }

    /// How many messages are handled now. Where one comes alone, to look for a second one costs a system call, and the
    /// loop does that anyway: so all are read only where messages come in one turn of the loop after the other. A
    /// delegate gets batches.
    private var mostMessages: Int {
        guard delegate == nil else { return Self.messages }
        var turn: UInt64 = 0
        must(sd_event_get_iteration(loop.raw, &turn), "sd_event_get_iteration")
        defer { lastTurn = turn }
        return turn == lastTurn + 1 ? Self.messages : 1
    }

    func resume() { must(sd_event_source_set_enabled(deferred, CInt(SD_EVENT_ONESHOT)), "sd_event_source_set_enabled") }

    func pause() { must(sd_event_source_set_enabled(deferred, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled") }

    private func stop() {
        armedFor = nil
        for source in [input, timer, deferred] {
            must(sd_event_source_set_enabled(source, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled")
        }
    }
}

private func pump(_ context: UnsafeMutableRawPointer?) -> BusPump {
    Unmanaged<BusPump>.fromOpaque(context!).takeUnretainedValue()
}

private let onReady: sd_event_io_handler_t = { _, _, events, context in
    pump(context).drain(canWrite: events & UInt32(POLLOUT) != 0)
    return 0
}

private let onTime: sd_event_time_handler_t = { _, _, context in
    pump(context).timerFired()
    return 0
}

private let onDeferred: sd_event_handler_t = { _, context in
    pump(context).drain()
    return 0
}

private let onPrepare: sd_event_handler_t = { _, context in
    pump(context).prepare()
    return 0
}
