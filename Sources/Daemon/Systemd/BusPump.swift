internal import CSystemd
import Glibc

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
