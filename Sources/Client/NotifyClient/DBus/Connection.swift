internal import CDBus
import Glibc
import Synchronization

/// One private connection to a message bus, from `open` until it is closed or lost. A lost connection is never reused;
/// see
/// ``ConnectionManager``.
///
/// All calls of libdbus run on one ``WorkLoop``. Replies are matched with calls here, by serial number, so libdbus
/// needs no pending calls and no timeouts. Handlers run on the loop, in the order in which the bus delivers messages.
///
/// [libdbus](https://dbus.freedesktop.org/doc/api/html/group__DBusConnection.html)
package final class Connection: @unchecked Sendable {
    // Proof: every stored `var`, and the contents of `replies`, are accessed on `loop` only, or in `deinit`, when no
    // work of the loop refers to `self`. `uniqueName` is written once, before `open` returns the object. The rest is
    // constant and Sendable.

    package typealias SignalHandler = @Sendable (Message) -> Void
    /// Whether a connection, by its unique name, owns a well-known name.
    package typealias OwnerCheck = @Sendable (_ connection: String, _ name: String) -> Bool
    package typealias CallHandler = @Sendable (IncomingCall) -> Void
    package typealias Completion = @Sendable (Result<Message, NotifyError>) -> Void

    /// How long a call waits for its reply.
    package static let usualTimeout = Duration.seconds(25)
    /// If more bytes than this wait to be written, the bus has stopped reading.
    private static let outgoingLimit = 32 << 20

    /// The name the bus gave this connection, such as `:1.42`.
    package private(set) var uniqueName = ""

    /// On which everything happens.
    package let loop: WorkLoop
    private let replies: ReplyTable
    private let onSignal: SignalHandler
    private let onClose: @Sendable () -> Void
    private let onCut: (@Sendable () -> Void)?
    private let maximumMessage: Int?
    private let open = Atomic(true)
    private let lastCallID = Atomic<UInt64>(0)

    /// The socket, a second time: when libdbus has ended the connection, it tells whether the bus had.
    private var socket: CInt = -1

    private var watches: WatchSet?
    private var raw: OpaquePointer?
    private var isLost = false
    /// Whether libdbus has ended the connection, because of what had come.
    private var isCut = false
    private var isDrainPlanned = false
    private var handlers: [String: CallHandler] = [:]
    /// What a monitor does with everything that it sees.
    private var onMonitored: (@Sendable (Message) -> Void)?

    private init(
        _ loop: WorkLoop, maximumMessage: Int?, isOwner: @escaping OwnerCheck, onSignal: @escaping SignalHandler,
        onClose: @escaping @Sendable () -> Void, onCut: (@Sendable () -> Void)?
    ) {
        self.onCut = onCut
        self.maximumMessage = maximumMessage
        self.loop = loop
        replies = ReplyTable(loop: loop, isOwner: isOwner)
        self.onSignal = onSignal
        self.onClose = onClose
    }

    deinit { tearDown() }

    /// Connects and introduces itself to the bus.
    ///
    /// - Parameters:
    ///   - address: a [server address](https://dbus.freedesktop.org/doc/dbus-specification.html#addresses).
    ///   - loop: where handlers run; with `nil` the connection has a loop of its own.
    ///   - maximumMessage: the longest message in bytes that is received. A longer one ends the connection before any
    ///   of its contents
    ///     is read: libdbus copies a message twice, and whoever is on the bus may send 128 MiB. With `nil`, all are
    ///     received.
    ///   - isOwner: called on the loop for every reply to a call to a well-known name; only a reply from the owner is
    ///     accepted.
    ///   - onSignal: called for every signal that arrives.
    ///   - onClose: called once when the connection is lost, but not when it is closed with `close`.
    ///   - onCut: called instead, if it is given, when the bus is there still: what it delivered was too long, or no
    ///     message at all.
    /// - Throws: `notReachable` when there is no bus, or the bus refuses the connection.
    package static func open(
        _ address: String,
        on loop: WorkLoop? = nil,
        maximumMessage: Int? = nil,
        isOwner: @escaping OwnerCheck = { _, _ in true },
        onSignal: @escaping SignalHandler = { _ in },
        onClose: @escaping @Sendable () -> Void = {},
        onCut: (@Sendable () -> Void)? = nil
    ) async throws(NotifyError) -> Connection {
        let loop = if let loop { loop } else { try WorkLoop() }
        let connection = Connection(
            loop, maximumMessage: maximumMessage, isOwner: isOwner, onSignal: onSignal, onClose: onClose, onCut: onCut)
        let reply: Result<Message, NotifyError> = await withCheckedContinuation { continuation in
            connection.loop.perform {
                if let error = connection.connect(to: address) {
                    continuation.resume(returning: .failure(error))
                    return
                }
                connection.start(.toBus("Hello"), callID: 0, timeout: .seconds(10)) { result in
                    if case .success(let reply) = result, case .string(let name)? = reply.arguments.first {
                        connection.uniqueName = name
                    }
                    continuation.resume(returning: result)
                }
            }
        }
        guard case .failure(let error) = reply else { return connection }
        connection.close()
        throw NotifyError(.notReachable, "The message bus at \(address) cannot be used: \(error.message)")
    }

    /// Whether the connection can still be used.
    package var isOpen: Bool { open.load(ordering: .acquiring) }

    /// Closes the connection. Calls without a reply fail.
    package func close() { loop.perform { self.tearDown() } }

    // MARK: Sending

    /// Sends a call and waits for its reply.
    ///
    /// - Throws: `refused` when the answer is an error, `timedOut`, `notReachable`, `cancelled`, `invalidArgument`.
    package func call(_ message: Message, timeout: Duration = usualTimeout) async throws(NotifyError) -> Message {
        let callID = lastCallID.add(1, ordering: .relaxed).newValue
        let result: Result<Message, NotifyError> = await withTaskCancellationHandler {
            if Task.isCancelled { return .failure(.cancelled) }
            return await withCheckedContinuation { continuation in
                loop.perform {
                    self.start(message, callID: callID, timeout: timeout) { continuation.resume(returning: $0) }
                }
            }
        } onCancel: {
            loop.perform { self.replies.cancel(callID) }
        }
        return try result.get()
    }

    /// Like `call` with a completion that runs on the loop, in order with the signals.
    package func call(
        _ message: Message, timeout: Duration = usualTimeout, completion: @escaping Completion
    ) {
        loop.perform { self.start(message, callID: 0, timeout: timeout, completion) }
    }

    /// Sends a message that gets no reply. It is dropped when the connection is closed.
    package func send(_ message: Message) { loop.perform { _ = self.write(message) } }

    /// Runs `handler` on the loop for every call of `interface`, at whatever object.
    package func export(_ interface: String, handler: @escaping CallHandler) {
        loop.perform { self.handlers[interface] = handler }
    }

    /// Makes the connection a monitor: from now on it sees what fits the rules, whoever sends it to whom, and sends
    /// nothing itself.
    ///
    /// - Parameters:
    ///   - rules: match rules, also for calls and their replies.
    ///   - onMessage: called on the loop for every message, in the order in which the bus delivers them.
    /// - Throws: `refused` when the bus does not allow it.
    package func becomeMonitor(
        _ rules: [String], onMessage: @escaping @Sendable (Message) -> Void
    ) async throws(NotifyError) {
        let call = Message.call(
            "BecomeMonitor", of: "org.freedesktop.DBus.Monitoring", at: Bus.path, on: Bus.name,
            [.strings(rules), .uint32(0)])
        let result: Result<Message, NotifyError> = await withCheckedContinuation { continuation in
            self.call(call) { result in
                // Before anything that is monitored is read.
                if case .success = result { self.onMonitored = onMessage }
                continuation.resume(returning: result)
            }
        }
        _ = try result.get()
    }

    /// Runs `work` on the loop, in order with signals and replies.
    package func perform(_ work: @escaping @Sendable () -> Void) { loop.perform(work) }

    // MARK: On the loop

    private func connect(to address: String) -> NotifyError? {
        guard !address.utf8.contains(0) else { return NotifyError(.invalidArgument, "it holds a NUL character.") }
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let raw = dbus_connection_open_private(address, &error) else {
            // Some texts of libdbus end with a newline.
            let text = error.message.map { String(cString: $0).filter { $0 != "\n" } } ?? "out of memory"
            return NotifyError(.notReachable, "\(text).")
        }
        self.raw = raw
        dbus_connection_set_exit_on_disconnect(raw, 0)
        if let maximumMessage {
            dbus_connection_set_max_message_size(raw, maximumMessage)
            // What is read before it is dispatched: not a second one of that length.
            dbus_connection_set_max_received_size(raw, maximumMessage)
            var socket: CInt = -1
            if dbus_connection_get_socket(raw, &socket) != 0 { self.socket = fcntl(socket, F_DUPFD_CLOEXEC, 0) }
        }
        let watches = WatchSet(loop: loop) { [weak self] descriptor, flags in
            guard let self else { return }
            self.watches?.handle(descriptor, flags)
            self.drain()
        }
        self.watches = watches
        // The callbacks run only inside libdbus functions called by this object, which lives while they do.
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard watches.attach(to: raw), dbus_connection_add_filter(raw, onMessage, context, nil) != 0 else {
            return .noMemory
        }
        dbus_connection_set_dispatch_status_function(raw, onDispatchStatus, context, nil)
        return nil
    }

    private func write(_ message: Message) -> Result<UInt32, NotifyError> {
        guard let raw, !isLost else { return .failure(.lost) }
        guard dbus_connection_get_outgoing_size(raw) < Self.outgoingLimit else {
            return .failure(NotifyError(.notReachable, "The message bus has stopped reading."))
        }
        do throws(NotifyError) {
            let encoded = try RawMessage.encoding(message)
            var serial: UInt32 = 0
            guard dbus_connection_send(raw, encoded.pointer, &serial) != 0 else { throw .noMemory }
            return .success(serial)
        } catch {
            return .failure(error)
        }
    }

    private func start(_ message: Message, callID: UInt64, timeout: Duration, _ completion: @escaping Completion) {
        switch write(message) {
        case .failure(let error): completion(.failure(error))
        case .success(let serial):
            replies.add(serial, to: message.destination ?? "", callID: callID, timeout: timeout, completion)
        }
    }

    fileprivate func planDrain() {
        guard !isDrainPlanned else { return }
        isDrainPlanned = true
        loop.perform { [weak self] in
            self?.isDrainPlanned = false
            self?.drain()
        }
    }

    /// Dispatches the messages that have been read, at most 256 at a time, so that other work of the loop is done too.
    private func drain() {
        guard let raw else { return }
        var count = 0
        while dbus_connection_dispatch(raw) == DBUS_DISPATCH_DATA_REMAINS {
            count += 1
            if count == 256 {
                planDrain()
                break
            }
        }
        if isLost {
            tearDown()
            if isCut, let onCut { onCut() } else { onClose() }
        }
    }

    /// Returns whether the message was handled.
    fileprivate func receive(_ pointer: OpaquePointer) -> Bool {
        let sender = dbus_message_get_sender(pointer).map { String(cString: $0) }
        // libdbus creates this message itself, without a sender; messages from the bus have one.
        if sender == nil, dbus_message_is_signal(pointer, "org.freedesktop.DBus.Local", "Disconnected") != 0 {
            isLost = true
            isCut = isBusThere
            return true
        }
        let message = Message(decoding: pointer)
        if let onMonitored {
            // Nothing is answered: the bus disconnects a monitor that sends something.
            if let message { onMonitored(message) }
            return true
        }
        switch dbus_message_get_type(pointer) {
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if let message { onSignal(message) }
            return true
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            guard let interface = dbus_message_get_interface(pointer).map({ String(cString: $0) }),
                let handler = handlers[interface]
            else { return false }
            guard let message else {
                refuse(pointer)
                return true
            }
            handler(IncomingCall(message: message, connection: self))
            return true
        default:
            replies.answer(
                dbus_message_get_reply_serial(pointer), from: sender,
                isError: dbus_message_get_type(pointer) == DBUS_MESSAGE_TYPE_ERROR, outcome(of: message))
            return true
        }
    }

    /// Whether the other end of the socket is open, or has left something to read.
    private var isBusThere: Bool {
        guard socket >= 0 else { return false }
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
        return count > 0 || count < 0 && errno == EAGAIN
    }

    /// Answers a call that cannot be read.
    private func refuse(_ call: OpaquePointer) {
        let text = "A call has at most \(Message.maximumValuesOfCall) values, and no file descriptor."
        guard let raw, dbus_message_get_no_reply(call) == 0,
            let answer = dbus_message_new_error(call, "org.freedesktop.DBus.Error.LimitsExceeded", text)
        else { return }
        defer { dbus_message_unref(answer) }
        dbus_connection_send(raw, answer, nil)
    }

    private func outcome(of reply: Message?) -> Result<Message, NotifyError> {
        guard let reply else {
            return .failure(NotifyError(.refused, "The answer holds a file descriptor, which is not understood here."))
        }
        guard reply.kind == .error else { return .success(reply) }
        return .failure(
            NotifyError(
                name: reply.errorName ?? "", text: reply.arguments.first?.string, fromBus: reply.sender == Bus.name))
    }

    private func tearDown() {
        open.store(false, ordering: .releasing)
        if let raw {
            self.raw = nil
            dbus_connection_remove_filter(raw, onMessage, Unmanaged.passUnretained(self).toOpaque())
            dbus_connection_set_dispatch_status_function(raw, nil, nil, nil)
            dbus_connection_close(raw)
            dbus_connection_unref(raw)
        }
        if socket >= 0 {
            Glibc.close(socket)
            socket = -1
        }
        handlers = [:]
        onMonitored = nil
        replies.failAll(.lost)
    }
}

private func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
    context.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

private let onMessage: DBusHandleMessageFunction = { _, message, context in
    guard let message, let connection = connection(context) else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
    return connection.receive(message) ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
}

private let onDispatchStatus: DBusDispatchStatusFunction = { _, status, context in
    if status == DBUS_DISPATCH_DATA_REMAINS { connection(context)?.planDrain() }
}

/// The message bus itself.
///
/// [Message bus messages](https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-messages)
package enum Bus {
    package static let name = "org.freedesktop.DBus"
    package static let path = "/org/freedesktop/DBus"
    package static let interface = "org.freedesktop.DBus"
}

extension Connection {
    /// Returns when the bus has acknowledged the rule: every signal sent after that is received.
    package func addMatch(_ rule: MatchRule) async throws(NotifyError) {
        _ = try await call(.toBus("AddMatch", [.string(rule.text)]))
    }

    /// Adds a rule without waiting for the reply. What is sent after this reaches the bus after it.
    package func requestMatch(_ rule: MatchRule) { tellBus("AddMatch", rule) }

    /// Removes one rule, without waiting for the reply.
    package func removeMatch(_ rule: MatchRule) { tellBus("RemoveMatch", rule) }

    private func tellBus(_ member: String, _ rule: MatchRule) {
        var message = Message.toBus(member, [.string(rule.text)])
        message.expectsReply = false
        send(message)
    }

    /// Requests a name, without queueing for it and without replacing its owner.
    ///
    /// - Throws: `refused` when it is taken.
    package func requestName(_ name: String) async throws(NotifyError) {
        let doNotQueue: UInt32 = 4
        let reply = try await call(.toBus("RequestName", [.string(name), .uint32(doNotQueue)]))
        let isOwner = reply.arguments.first.flatMap { $0.integer(as: Int.self) } == 1
        if !isOwner { throw NotifyError(.refused, "The name \(name) is owned by another connection on this bus.") }
    }

    package func releaseName(_ name: String) async throws(NotifyError) {
        _ = try await call(.toBus("ReleaseName", [.string(name)]))
    }

    /// The unique name of the owner, or `nil`. This does not start a service.
    package func owner(of name: String) async throws(NotifyError) -> String? {
        do {
            return try await call(.toBus("GetNameOwner", [.string(name)])).arguments.first?.string
        } catch {
            if error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" { return nil }
            throw error
        }
    }

    /// The process id of the owner of a name; `nil` if the bus does not say it, because it has left meanwhile, for
    /// example.
    package func process(of name: String) async throws(NotifyError) -> UInt32? {
        do {
            return try await call(.toBus("GetConnectionUnixProcessID", [.string(name)])).arguments.first?.integer()
        } catch {
            if error.code == .refused || isOpen { return nil }
            throw error
        }
    }
}
