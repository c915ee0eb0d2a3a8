import CDesktop
import Glibc
import Systemd
import Watching

/// The windows of a Wayland compositor that has the protocol `wlr-foreign-toplevel-management-unstable-v1`, as those
/// made with wlroots do.
///
/// The protocol does not tell on which workspace a window is: it counts as visible unless it is minimised.
final class WaylandSource: WindowSource {
    /// A window, as far as the compositor has told about it. The C callbacks get an unretained pointer to it; it is in
    /// `toplevels` as long as the proxy exists.
    final class Toplevel {
        let id: UInt64
        unowned let source: WaylandSource
        var title = ""
        var app = ""
        var isActivated = false
        var isMinimised = false
        /// `nil` until the first `done`.
        var window: Window?

        init(id: UInt64, source: WaylandSource) {
            self.id = id
            self.source = source
        }
    }

    private let report: (SourceReport) -> Void
    private let display: OpaquePointer
    private var registry: OpaquePointer?
    fileprivate var manager: OpaquePointer?
    private var roundTrip: OpaquePointer?
    private var input: EventSource?
    private var toplevels: [(proxy: OpaquePointer, toplevel: Toplevel)] = []
    private var lastID: UInt64 = 0
    fileprivate var hasChanged = false
    private var isRefused = false
    fileprivate var isFinished = false

    /// Connects; it waits for the compositor to take the connection, and for nothing else.
    init(display name: String, loop: EventLoop, report: @escaping (SourceReport) -> Void) throws {
        self.report = report
        WaylandLog.redirect()
        guard let display = wl_display_connect(name) else {
            throw SourceFailure("the Wayland compositor \(name) cannot be reached: \(String(cString: strerror(errno)))")
        }
        self.display = display
        input = try loop.input(wl_display_get_fd(display)) { [unowned self] in read() }
        let context = Unmanaged.passUnretained(self).toOpaque()
        registry = wl_display_get_registry(display)
        wl_registry_add_listener(registry, registryListener, context)
        // Its answer comes after the list of what the compositor has.
        roundTrip = wl_display_sync(display)
        wl_callback_add_listener(roundTrip, callbackListener, context)
        wl_display_flush(display)
    }

    deinit {
        input = nil
        for (proxy, _) in toplevels { wl_proxy_destroy(proxy) }
        for proxy in [manager, roundTrip, registry] where proxy != nil { wl_proxy_destroy(proxy) }
        wl_display_disconnect(display)
    }

    // MARK: Reading

    private func read() {
        // Only this thread reads, so nothing is between these calls.
        while wl_display_prepare_read(display) != 0 {
            if wl_display_dispatch_pending(display) < 0 { return end() }
        }
        guard wl_display_read_events(display) >= 0 || errno == EAGAIN, wl_display_dispatch_pending(display) >= 0 else {
            return end()
        }
        wl_display_flush(display)
        if isRefused {
            return end("this Wayland compositor tells nobody of its windows: it lacks wlr-foreign-toplevel-management")
        }
        if isFinished { return end("the Wayland compositor tells no more of its windows") }
        guard hasChanged else { return }
        hasChanged = false
        report(.windows(toplevels.compactMap(\.toplevel.window)))
    }

    private func end(_ reason: String = "the Wayland compositor has ended the connection") {
        input = nil
        report(.ended(reason))
    }

    // MARK: Events

    fileprivate func bind(_ name: UInt32) {
        guard manager == nil, let registry else { return }
        manager = notifyd_bind_manager(registry, name)
        notifyd_listen_to_manager(manager, managerListener, Unmanaged.passUnretained(self).toOpaque())
    }

    /// All that the compositor has is known.
    fileprivate func endRoundTrip() {
        if manager == nil { isRefused = true }
        if let roundTrip { wl_proxy_destroy(roundTrip) }
        roundTrip = nil
        // Without a window it works, too.
        hasChanged = true
    }

    fileprivate func add(_ proxy: OpaquePointer) {
        lastID += 1
        let toplevel = Toplevel(id: lastID, source: self)
        toplevels.append((proxy, toplevel))
        notifyd_listen_to_toplevel(proxy, toplevelListener, Unmanaged.passUnretained(toplevel).toOpaque())
    }

    fileprivate func remove(_ proxy: OpaquePointer) {
        toplevels.removeAll { $0.proxy == proxy }
        notifyd_destroy_toplevel(proxy)
        hasChanged = true
    }
}

extension WaylandSource.Toplevel {
    fileprivate func setStates(_ states: UnsafeMutablePointer<wl_array>?) {
        let words = states.map { UnsafeRawBufferPointer(start: $0.pointee.data, count: $0.pointee.size) }
        let states = (0..<(words?.count ?? 0) / 4).map { words!.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
        isActivated = states.contains(UInt32(NOTIFYD_TOPLEVEL_ACTIVATED))
        isMinimised = states.contains(UInt32(NOTIFYD_TOPLEVEL_MINIMIZED))
    }

    /// What was told belongs together.
    fileprivate func finish() {
        let new = Window(id: id, app: app, title: title, isFocused: isActivated, isVisible: !isMinimised)
        guard new != window else { return }
        window = new
        source.hasChanged = true
    }
}

private func source(_ context: UnsafeMutableRawPointer?) -> WaylandSource {
    Unmanaged<WaylandSource>.fromOpaque(context!).takeUnretainedValue()
}

private func toplevel(_ context: UnsafeMutableRawPointer?) -> WaylandSource.Toplevel {
    Unmanaged<WaylandSource.Toplevel>.fromOpaque(context!).takeUnretainedValue()
}

/// Listeners have to stay where they are.
private func kept<Listener>(_ listener: Listener) -> UnsafeMutablePointer<Listener> {
    let pointer = UnsafeMutablePointer<Listener>.allocate(capacity: 1)
    pointer.initialize(to: listener)
    return pointer
}

nonisolated(unsafe) private let registryListener = kept(
    wl_registry_listener(
        global: { context, _, name, interface, _ in
            if let interface, strcmp(interface, NOTIFYD_TOPLEVEL_MANAGER) == 0 { source(context).bind(name) }
        }, global_remove: { _, _, _ in }))

nonisolated(unsafe) private let callbackListener = kept(
    wl_callback_listener(done: { context, _, _ in source(context).endRoundTrip() }))

nonisolated(unsafe) private let managerListener = kept(
    notifyd_manager_listener(
        toplevel: { context, _, proxy in if let proxy { source(context).add(proxy) } },
        finished: { context, _ in source(context).isFinished = true }))

nonisolated(unsafe) private let toplevelListener = kept(
    notifyd_toplevel_listener(
        title: { context, _, text in toplevel(context).title = text.map { String(cString: $0) } ?? "" },
        app_id: { context, _, text in toplevel(context).app = text.map { String(cString: $0) } ?? "" },
        output_enter: { _, _, _ in }, output_leave: { _, _, _ in },
        state: { context, _, states in toplevel(context).setStates(states) },
        done: { context, _ in toplevel(context).finish() },
        closed: { context, proxy in if let proxy { toplevel(context).source.remove(proxy) } }))

/// What libwayland has to say. By itself it writes to standard error what a compositor sends as the text of an error,
/// raw.
enum WaylandLog {
    /// Bytes of a line that are kept.
    private static let longest = 256

    /// Takes each line. Set it before a source is made; only the thread of the loop uses it.
    nonisolated(unsafe) static var log: (String) -> Void = { _ in }

    static func redirect() {
        wl_log_set_handler_client { format, arguments in
            guard let format, let arguments else { return }
            var bytes = [CChar](repeating: 0, count: WaylandLog.longest)
            guard vsnprintf(&bytes, bytes.count, format, arguments) > 0 else { return }
            let line = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            WaylandLog.log(
                String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...], as: UTF8.self))
        }
    }
}
