internal import CDBus
import Dispatch
import Glibc

/// The file descriptors that libdbus watches, as dispatch sources.
///
/// libdbus adds two watches for each descriptor, one for reading and one for writing, and toggles them instead of removing
/// them. After every change a descriptor has at most one source for reading and one for writing. A write source exists only
/// while there are bytes to write.
///
/// Everything here runs on the queue of the connection.
final class WatchSet {
    private struct Key: Hashable {
        let descriptor: CInt
        /// `DBUS_WATCH_READABLE` or `DBUS_WATCH_WRITABLE`.
        let flag: UInt32
    }

    private let queue: DispatchQueue
    private let ready: @Sendable (_ descriptor: CInt, _ flags: UInt32) -> Void
    private var watches: [OpaquePointer] = []
    private var sources: [Key: any DispatchSourceProtocol] = [:]

    /// - Parameter ready: called on `queue` when a descriptor is readable or writable.
    init(queue: DispatchQueue, ready: @escaping @Sendable (_ descriptor: CInt, _ flags: UInt32) -> Void) {
        self.queue = queue
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
            let wanted = dbus_watch_get_flags(watch) & flags
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
        var flags: UInt32 = 0
        for watch in watches where dbus_watch_get_unix_fd(watch) == descriptor && dbus_watch_get_enabled(watch) != 0 {
            flags |= dbus_watch_get_flags(watch)
        }
        for flag in [DBUS_WATCH_READABLE.rawValue, DBUS_WATCH_WRITABLE.rawValue] {
            let key = Key(descriptor: descriptor, flag: flag)
            if flags & flag == 0 {
                sources.removeValue(forKey: key)?.cancel()
            } else if sources[key] == nil, let own = duplicate(descriptor) {
                let source: any DispatchSourceProtocol =
                    flag == DBUS_WATCH_READABLE.rawValue
                    ? DispatchSource.makeReadSource(fileDescriptor: own, queue: queue)
                    : DispatchSource.makeWriteSource(fileDescriptor: own, queue: queue)
                source.setEventHandler { [ready] in ready(descriptor, flag) }
                source.setCancelHandler { close(own) }
                source.activate()
                sources[key] = source
            }
        }
    }

    /// A source lives until its cancellation has been handled, but libdbus closes its descriptor at once. So each source has a
    /// duplicate of the descriptor.
    private func duplicate(_ descriptor: CInt) -> CInt? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return copy < 0 ? nil : copy
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
