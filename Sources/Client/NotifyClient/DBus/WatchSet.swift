internal import CDBus
import Glibc

/// The file descriptors that libdbus watches, as watches of a ``WorkLoop``.
///
/// libdbus adds two watches for each descriptor, one for reading and one for writing, and toggles them instead of
/// removing them. The loop waits for a descriptor once, for what is enabled: it is writable only while there are bytes
/// to write.
///
/// Everything here runs on the loop of the connection.
final class WatchSet {
    private let loop: WorkLoop
    private let ready: @Sendable (_ descriptor: CInt, _ flags: UInt32) -> Void
    private var watches: [OpaquePointer] = []

    /// - Parameter ready: called on `loop` with the flags of libdbus for what a descriptor is ready for.
    init(loop: WorkLoop, ready: @escaping @Sendable (_ descriptor: CInt, _ flags: UInt32) -> Void) {
        self.loop = loop
        self.ready = ready
    }

    func attach(to connection: OpaquePointer) -> Bool {
        // The connection object keeps this set alive until it has closed the C connection.
        let context = Unmanaged.passUnretained(self).toOpaque()
        return dbus_connection_set_watch_functions(connection, onAdd, onRemove, onToggle, context, nil) != 0
    }

    /// Lets libdbus read from or write to a descriptor that is ready.
    func handle(_ descriptor: CInt, _ flags: UInt32) {
        // Handling one watch may remove another, so each watch is looked up again.
        for watch in watches where dbus_watch_get_unix_fd(watch) == descriptor {
            guard watches.contains(watch), dbus_watch_get_enabled(watch) != 0 else { continue }
            // The last two come unasked.
            let wanted = flags & (dbus_watch_get_flags(watch) | DBUS_WATCH_HANGUP.rawValue | DBUS_WATCH_ERROR.rawValue)
            if wanted != 0 { dbus_watch_handle(watch, wanted) }
        }
    }

    fileprivate func add(_ watch: OpaquePointer) {
        watches.append(watch)
        refresh(dbus_watch_get_unix_fd(watch))
    }

    fileprivate func remove(_ watch: OpaquePointer) {
        watches.removeAll { $0 == watch }
        refresh(dbus_watch_get_unix_fd(watch))
    }

    fileprivate func refresh(_ descriptor: CInt) {
        var events = 0
        for watch in watches where dbus_watch_get_unix_fd(watch) == descriptor && dbus_watch_get_enabled(watch) != 0 {
            let flags = dbus_watch_get_flags(watch)
            if flags & DBUS_WATCH_READABLE.rawValue != 0 { events |= Int(POLLIN) }
            if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events |= Int(POLLOUT) }
        }
        loop.watch(descriptor, for: Int16(events)) { [ready] events in ready(descriptor, Self.flags(events)) }
    }

    private static func flags(_ events: Int16) -> UInt32 {
        var flags: UInt32 = 0
        if events & Int16(POLLIN) != 0 { flags |= DBUS_WATCH_READABLE.rawValue }
        if events & Int16(POLLOUT) != 0 { flags |= DBUS_WATCH_WRITABLE.rawValue }
        if events & Int16(POLLHUP) != 0 { flags |= DBUS_WATCH_HANGUP.rawValue }
        if events & Int16(POLLERR | POLLNVAL) != 0 { flags |= DBUS_WATCH_ERROR.rawValue }
        return flags
    }
}

private func watchSet(_ context: UnsafeMutableRawPointer?) -> WatchSet? {
    context.map { Unmanaged<WatchSet>.fromOpaque($0).takeUnretainedValue() }
}

private let onAdd: DBusAddWatchFunction = { watch, context in
    guard let watch else { return 0 }
    watchSet(context)?.add(watch)
    return 1
}

private let onRemove: DBusRemoveWatchFunction = { watch, context in
    if let watch { watchSet(context)?.remove(watch) }
}

private let onToggle: DBusWatchToggledFunction = { watch, context in
    if let watch { watchSet(context)?.refresh(dbus_watch_get_unix_fd(watch)) }
}
