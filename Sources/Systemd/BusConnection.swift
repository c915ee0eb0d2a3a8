internal import CSystemd
import Glibc

/// A D-Bus error as it goes over the bus: a name for programs and a sentence for people.
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

    /// No answer came in time. Servers in between may use the second name.
    public var isTimeout: Bool {
        name == Self.noReply.name || name == "org.freedesktop.DBus.Error.Timeout"
    }

    static let noReply = BusFailure(
        name: "org.freedesktop.DBus.Error.NoReply", text: "no answer came in time")
}

/// A connection to a message bus, sd-bus(3), attached to a loop. File descriptors are neither sent nor accepted.
public final class BusConnection {
    let raw: OpaquePointer
    private var writeQueue = WriteQueue()
    private var pump: BusPump?
    private var onFailure: () -> Void = {}
    private var calls = BusCalls()
    /// What is delivered once more and has not been yet. sd-bus keeps these messages until then.
    private var redelivered: Set<OpaquePointer> = []
    /// Sees the answers to calls.
    private var answers: BusSlot?

    /// Connects and says hello.
    ///
    /// - Parameters:
    ///   - address: a D-Bus server address such as `unix:path=/run/user/1000/bus`.
    ///   - waits: whether to wait for the bus to answer; without, a bus that does not is found out by `onDisconnect`.
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
        // Asking for the name waits for the bus to say hello.
        var name: UnsafePointer<CChar>?
        try check(sd_bus_get_unique_name(raw, &name), "sd_bus_get_unique_name")
    }

    /// sd-bus asks for eight megabytes on the way to the bus, and gets them where its user may. What lies there stands before
    /// every later answer, and is not counted by `queuedBytes`; see socket(7).
    private func limitSendBuffer() {
        var bytes: CInt = 128 << 10
        // Only a matter of speed.
        _ = setsockopt(sd_bus_get_fd(raw), SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<CInt>.size))
    }

    /// A connection to nobody: messages can be made on it and read back, and never leave. For tests of what reads messages.
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

    /// From now on the loop reads and writes for this connection, before it serves any timer.
    ///
    /// - Parameter reader: asked what is to be done between two readings.
    public func attach(to loop: EventLoop, as reader: (any BusReader)? = nil) throws(SystemdError) {
        pump = try BusPump(self, loop: loop, reader: reader) { [unowned self] in onFailure() }
    }

    /// Has the reader handle some more of what has been read, where it had nothing to handle before.
    public func goOn() {
        pump?.goOn()
    }

    /// Takes a well-known name; neither waits in a queue for it nor lets anybody take it over. Waits for the bus. What comes
    /// before its answer is handled later: dbus-daemon delivers the calls that have started this process before it answers.
    ///
    /// - Throws: an error with `isNameTaken` when somebody has it.
    public func requestName(_ name: String) throws(SystemdError) {
        let doNotQueue: UInt32 = 4
        var code = EPERM
        // sd_bus_call(3) takes an answer from any connection, and does not say whose an error is. A further question has
        // another number, which a stranger would have to guess anew.
        for _ in 1...16 {
            let question = question("RequestName", about: name)
            question.append(doNotQueue, as: "u")
            var error = sd_bus_error()
            defer { sd_bus_error_free(&error) }
            var reply: OpaquePointer?
            code = -sd_bus_call(raw, question.raw, 25_000_000, &error, &reply)
            guard let reply else {
                if error.name == nil || code == ETIMEDOUT { break }
                continue
            }
            let answer = BusMessage(adopting: reply)
            guard Speaker.bus.isSender(answer.sender) else { continue }
            let result: UInt32 = try answer.readNumber("u")
            // 1: this connection has become the owner; 4: it was the owner before.
            guard result == 1 || result == 4 else { throw SystemdError(code: EEXIST, call: "RequestName") }
            return
        }
        throw SystemdError(code: max(code, EPERM), call: "RequestName")
    }

    /// What tells this bus from every other, also from an earlier one at the same address; 32 hexadecimal digits.
    public func id() throws(SystemdError) -> String {
        var id = sd_id128_t()
        try check(sd_bus_get_bus_id(raw, &id), "sd_bus_get_bus_id")
        var text = [CChar](repeating: 0, count: 33)
        return String(cString: sd_id128_to_string(id, &text))
    }

    /// Who has a name now: a unique name, or `nil` where nobody has it. Waits for the bus, not for any of its peers, and
    /// handles what comes before its answer.
    public func owner(of name: String) throws(SystemdError) -> String? {
        let answer = try ask(question("GetNameOwner", about: name))
        if answer.message.failure?.isNoOwner == true { return nil }
        return try answer.message.readString()
    }

    /// Asks the bus itself, and waits for its answer.
    private func ask(_ question: consuming BusMessage) throws(SystemdError) -> HeldMessage {
        var answer: HeldMessage?
        try call(question, timeout: .seconds(25)) { answer = HeldMessage(retaining: $0) }
        while true {
            let isBusy = try check(sd_bus_process(raw, nil), "sd_bus_process") > 0
            if let answer { return answer }
            if !isBusy { try check(sd_bus_wait(raw, 1_000_000), "sd_bus_wait") }
            expireCalls()
            if let answer { return answer }
        }
    }

    /// Sends what is queued, and waits for it.
    public func flush() {
        // A bus that is gone cannot be flushed, and nothing can be done about that here.
        sd_bus_flush(raw)
    }

    /// Messages that the bus has not taken yet.
    public var queuedMessages: Int {
        var count: UInt64 = 0
        // A connection that is gone takes none; `onDisconnect` deals with it.
        return sd_bus_get_n_queued_write(raw, &count) < 0 ? 0 : Int(count)
    }

    /// About how many bytes those take.
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
    /// - Parameter starting: whether the bus may start a program to answer it.
    public func methodCall(
        to destination: String, path: String, interface: String, member: String, starting: Bool = false
    ) -> BusMessage {
        var message: OpaquePointer?
        must(
            sd_bus_message_new_method_call(raw, &message, destination, path, interface, member),
            "sd_bus_message_new_method_call")
        must(sd_bus_message_set_auto_start(message, starting ? 1 : 0), "sd_bus_message_set_auto_start")
        return BusMessage(adopting: message!)
    }

    /// Sends a reply or a signal. A connection that is gone is found out by `onDisconnect`, not here.
    ///
    /// - Parameter bytes: about how long the message is.
    public func send(_ message: borrowing BusMessage, bytes: Int = 0) throws(SystemdError) {
        try check(sd_bus_send(raw, message.raw, nil), "sd_bus_send")
        writeQueue.sent(bytes, queued: queuedMessages)
    }

    /// A question to the bus itself about a name.
    public func question(_ member: String, about name: String) -> BusMessage {
        let question = methodCall(
            to: Speaker.busName, path: "/org/freedesktop/DBus", interface: Speaker.busName, member: member)
        question.append(name)
        return question
    }

    /// Sends a call and hands its answer, or an error after the time-out, to `answer`. Only the destination is listened to,
    /// and the bus where it has an error; a call to a well-known name takes the answer of any connection.
    public func call(
        _ message: consuming BusMessage, timeout: Duration, _ answer: @escaping (borrowing BusMessage) -> Void
    ) throws(SystemdError) {
        let (seconds, attoseconds) = timeout.components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        let destination = message.destination
        var cookie: UInt64 = 0
        try check(sd_bus_send(raw, message.raw, &cookie), "sd_bus_send")
        calls.add(
            cookie, HeldMessage(message), to: destination, deadline: UInt64(Clock.monotonic() + microseconds), answer)
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

    /// When the next call has waited for too long; microseconds of the monotonic clock.
    var earliestDeadline: UInt64 { calls.earliestDeadline }

    /// Answers the calls that have waited for too long with an error.
    func expireCalls() {
        guard calls.earliestDeadline < .max else { return }
        for (call, answer) in calls.takeDue(at: UInt64(Clock.monotonic())) {
            answer(methodError(to: call.message, .noReply))
        }
    }

    /// Hands every message that matches the rule and comes from the speaker to `action`, for as long as the slot is kept.
    /// The rule is installed without waiting for the bus, which takes messages in order.
    ///
    /// - Parameter rule: without type and sender.
    public func match(
        signal rule: String, from speaker: Speaker, _ action: @escaping (borrowing BusMessage) -> Void
    ) throws(SystemdError) -> BusSlot {
        let slot = BusSlot { message in
            if speaker.isSender(message.sender) { action(message) }
            return false
        }
        try check(
            sd_bus_add_match_async(
                raw, &slot.raw, "type='signal',sender='\(speaker.name)',\(rule)", onMessage, onInstalled, slot.context),
            "sd_bus_add_match_async")
        return slot
    }

    /// Hands every change of ownership that the bus tells of to `action`, as the name and its new owner, `nil` where there
    /// is none.
    ///
    /// - Parameter rule: narrows it down, such as `arg0='org.example'`.
    public func matchOwners(
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

    /// Shows `action` every call to an object before the object's interfaces get it, for as long as the slot is kept. What
    /// `action` answers true to, it has dealt with; sd_bus_add_object(3).
    public func intercept(path: String, _ action: @escaping (borrowing BusMessage) -> Bool) -> BusSlot {
        let slot = BusSlot(action)
        must(sd_bus_add_object(raw, &slot.raw, path, onMessage, slot.context), "sd_bus_add_object")
        return slot
    }

    /// Hands every message to `action` first, which answers whether that was all, for as long as the slot is kept.
    /// sd_bus_add_filter(3).
    public func filter(_ action: @escaping (borrowing BusMessage) -> Bool) -> BusSlot {
        let slot = BusSlot(action)
        must(sd_bus_add_filter(raw, &slot.raw, onMessage, slot.context), "sd_bus_add_filter")
        return slot
    }

    /// Has sd-bus deal once more with a message that a filter took; not to be called from a handler.
    /// See sd_bus_enqueue_for_read(3).
    public func redeliver(_ message: borrowing BusMessage) {
        // A connection that is gone delivers nothing; `onDisconnect` deals with it.
        guard sd_bus_enqueue_for_read(raw, message.raw) >= 0 else { return }
        redelivered.insert(message.raw)
        // Each step writes what it can or handles one message, and what was read before comes first.
        while redelivered.contains(message.raw), sd_bus_process(raw, nil) > 0 {}
    }

    /// Whether a message that has come to a filter was delivered again; says so once.
    public func isRedelivered(_ message: borrowing BusMessage) -> Bool {
        redelivered.remove(message.raw) != nil
    }

    /// Hands every call to `action` and to nobody else, for as long as the slot is kept; but `org.freedesktop.DBus.Peer`
    /// answers as ever. sd_bus_add_filter(3).
    public func filterCalls(_ action: @escaping (borrowing BusMessage) -> Void) -> BusSlot {
        let slot = BusSlot { message in
            guard message.isCall(), !message.isCall(on: "org.freedesktop.DBus.Peer") else { return false }
            action(message)
            return true
        }
        must(sd_bus_add_filter(raw, &slot.raw, onMessage, slot.context), "sd_bus_add_filter")
        return slot
    }

    /// Says when the bus is gone, by a message that sd-bus makes up itself, or cannot be understood any more.
    public func onDisconnect(_ action: @escaping () -> Void) throws(SystemdError) -> BusSlot {
        onFailure = action
        return try match(
            signal: "path='/org/freedesktop/DBus/Local',interface='\(Speaker.libraryName)',member='Disconnected'",
            from: .library
        ) { _ in action() }
    }

    /// Tells everybody that properties have new values, as the specification's `PropertiesChanged`.
    public func propertiesChanged(path: String, interface: String, _ names: [String]) {
        var pointers = names.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        pointers.append(nil)
        pointers.withUnsafeMutableBufferPointer { names in
            // Fails when the bus is gone, which `onDisconnect` deals with.
            _ = sd_bus_emit_properties_changed_strv(raw, path, interface, names.baseAddress)
        }
    }
}

/// Something that waits for messages. Letting it go ends the waiting.
public final class BusSlot {
    fileprivate var raw: OpaquePointer?
    /// Answers whether nobody else needs to see the message.
    fileprivate let action: (borrowing BusMessage) -> Bool

    fileprivate init(_ action: @escaping (borrowing BusMessage) -> Bool) {
        self.action = action
    }

    deinit {
        sd_bus_slot_unref(raw)
    }

    fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    fileprivate func deliver(_ message: OpaquePointer) -> Bool {
        action(BusMessage(retaining: message))
    }
}

/// The bus has taken a rule or refused it. Without this a refusal, though another connection sent it, would end the connection.
private let onInstalled: sd_bus_message_handler_t = { message, _, _ in
    let message = BusMessage(retaining: message!)
    // A bus that refuses a rule has too many of ours, which is a mistake of ours.
    if message.sender == Speaker.busName { precondition(!message.isError, "the bus takes our match rules") }
    return 0
}

private let onMessage: sd_bus_message_handler_t = { message, context, _ in
    let slot = Unmanaged<BusSlot>.fromOpaque(context!).takeUnretainedValue()
    return slot.deliver(message!) ? 1 : 0
}
