internal import CSystemd
import Glibc

/// Who does not handle all messages as they are read.
public protocol BusReader: AnyObject {
    /// Whether more should be read now.
    var canRead: Bool { get }
    /// Handles some of what has been read; called when there is nothing more to read for the moment.
    ///
    /// - Returns: whether there is more to be handled.
    func handleSome() -> Bool
}

/// Reads and writes for a connection whenever the loop says that it can, and handles every message that is there at once.
///
/// sd_bus_attach_event(3) does the same with one turn of the loop for each message, and with a system call that asks whether
/// there is another.
final class BusPump {
    /// After so many messages the reader has its turn.
    private static let messages = 128

    private let bus: OpaquePointer
    private unowned let connection: BusConnection
    private let onFailure: () -> Void
    /// Lives as long as the loop runs. Whatever is referred to weakly is counted the slow way by everybody.
    private unowned let reader: (any BusReader)?
    private var input: OpaquePointer?
    private var timer: OpaquePointer?
    /// Ready while there is something to be handled, whatever there is to read.
    private var rest: OpaquePointer?

    /// - Parameter onFailure: called when the connection cannot go on although the bus has not left it.
    init(
        _ connection: BusConnection, loop: EventLoop, reader: (any BusReader)?, onFailure: @escaping () -> Void
    ) throws(SystemdError) {
        self.connection = connection
        bus = connection.raw
        self.reader = reader
        self.onFailure = onFailure
        let context = Unmanaged.passUnretained(self).toOpaque()
        let descriptor = try check(sd_bus_get_fd(bus), "sd_bus_get_fd")
        try check(sd_event_add_io(loop.raw, &input, descriptor, 0, onReady, context), "sd_event_add_io")
        try check(sd_event_source_set_prepare(input, onPrepare), "sd_event_source_set_prepare")
        // The time-outs of calls may be late by the default, a quarter of a second.
        try check(sd_event_add_time(loop.raw, &timer, CLOCK_MONOTONIC, .max, 0, onTime, context), "sd_event_add_time")
        try check(sd_event_add_defer(loop.raw, &rest, onRest, context), "sd_event_add_defer")
        try check(sd_event_source_set_enabled(rest, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled")
        for source in [input, timer, rest] {
            try check(
                sd_event_source_set_priority(source, Priority.messages.rawValue), "sd_event_source_set_priority")
        }
    }

    deinit {
        sd_event_source_disable_unref(input)
        sd_event_source_disable_unref(timer)
        sd_event_source_disable_unref(rest)
    }

    /// Before the loop waits: for what, and until when, sd_bus_get_events(3).
    fileprivate func prepare() {
        var events = sd_bus_get_events(bus)
        // What is not read now would wake the loop again and again, while the bus takes what waits for it.
        if events & CInt(POLLOUT) != 0, reader?.canRead == false { events &= ~CInt(POLLIN) }
        var moment = UInt64.max
        guard events >= 0, sd_bus_get_timeout(bus, &moment) >= 0 else { return stop() }
        must(sd_event_source_set_io_events(input, UInt32(events)), "sd_event_source_set_io_events")
        must(sd_event_source_set_time(timer, min(moment, connection.earliestDeadline)), "sd_event_source_set_time")
        must(sd_event_source_set_enabled(timer, CInt(SD_EVENT_ONESHOT)), "sd_event_source_set_enabled")
    }

    /// - Parameter canWrite: whether the bus takes something now.
    fileprivate func drain(canWrite: Bool = false) {
        // One step of sd-bus writes all it can, and reads a message only where it can write none.
        if canWrite, reader?.canRead == false, sd_bus_process(bus, nil) < 0 {
            stop()
            return onFailure()
        }
        for _ in 0..<Self.messages {
            guard reader?.canRead ?? true else { break }
            let result = sd_bus_process(bus, nil)
            if result == 0 { break }
            guard result > 0 else {
                stop()
                return onFailure()
            }
        }
        connection.expireCalls()
        if reader?.handleSome() == true { goOn() }
    }

    func goOn() {
        must(sd_event_source_set_enabled(rest, CInt(SD_EVENT_ONESHOT)), "sd_event_source_set_enabled")
    }

    private func stop() {
        for source in [input, timer, rest] {
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
    pump(context).drain()
    return 0
}

private let onRest: sd_event_handler_t = { _, context in
    pump(context).drain()
    return 0
}

private let onPrepare: sd_event_handler_t = { _, context in
    pump(context).prepare()
    return 0
}
