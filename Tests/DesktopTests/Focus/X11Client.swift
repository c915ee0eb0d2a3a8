import CDesktop
import Glibc
import NotifyClient
import NotifyRehearsal

/// A program with windows on an X server.
final class X11Client {
    private let raw: OpaquePointer
    private let root: UInt32
    private var atoms: [String: UInt32] = [:]

    init(display: String) throws(RehearsalError) {
        raw = xcb_connect(display, nil)
        guard xcb_connection_has_error(raw) == 0 else {
            xcb_disconnect(raw)
            throw RehearsalError("The X server \(display) cannot be reached.")
        }
        root = xcb_setup_roots_iterator(xcb_get_setup(raw)).data.pointee.root
    }

    deinit { xcb_disconnect(raw) }

    private func atom(_ name: String) -> UInt32 {
        if let known = atoms[name] { return known }
        let reply = xcb_intern_atom_reply(raw, xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name), nil)
        let atom = reply?.pointee.atom ?? 0
        free(reply)
        atoms[name] = atom
        return atom
    }

    private func set(_ name: String, _ type: String, _ text: String, on window: UInt32) {
        set(name, type, Array(text.utf8), on: window)
    }

    private func set(_ name: String, _ type: String, _ bytes: [UInt8], on window: UInt32) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, atom(name), atom(type), 8, UInt32(bytes.count), bytes)
    }

    /// Sets a property as a window manager does.
    ///
    /// - Parameter window: `nil` for the root.
    func set(_ name: String, _ windows: [UInt32], on window: UInt32? = nil) {
        xcb_change_property(
            raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window ?? root, atom(name), atom("WINDOW"), 32,
            UInt32(windows.count), windows)
        xcb_flush(raw)
    }

    /// Opens a window, and returns when the window manager has it; it may focus the window.
    func open(_ title: String, app: String, instance: String = "test") -> UInt32 {
        let window = openUnmanaged(title, app: app, instance: instance)
        let deadline = ContinuousClock.now + .seconds(30)
        while !isManaged(window), ContinuousClock.now < deadline {
            // openbox leaves what comes while it starts in its queue until something else comes.
            ask("NOTIFYD_TEST", root, [0, 0, 0, 0, 0])
            usleep(5000)
        }
        return window
    }

    /// Opens a window, and leaves what becomes of it to others.
    func openUnmanaged(_ title: String, app: String, instance: String = "test") -> UInt32 {
        let window = xcb_generate_id(raw)
        xcb_create_window(
            raw, UInt8(XCB_COPY_FROM_PARENT), window, root, 0, 0, 100, 50, 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), UInt32(XCB_COPY_FROM_PARENT), 0, nil)
        set("WM_CLASS", "STRING", instance + "\0" + app + "\0", on: window)
        rename(window, title)
        xcb_map_window(raw, window)
        xcb_flush(raw)
        return window
    }

    private func isManaged(_ window: UInt32) -> Bool {
        let cookie = xcb_get_property(raw, 0, root, atom("_NET_CLIENT_LIST"), 0, 0, 4096)
        guard let reply = xcb_get_property_reply(raw, cookie, nil) else { return false }
        defer { free(reply) }
        let numbers = UnsafeRawBufferPointer(
            start: xcb_get_property_value(reply), count: Int(xcb_get_property_value_length(reply)))
        return (0..<numbers.count / 4).contains {
            numbers.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) == window
        }
    }

    /// Has the screen saver begin or end.
    func blank(_ isBlank: Bool) {
        xcb_force_screen_saver(raw, UInt8((isBlank ? XCB_SCREEN_SAVER_ACTIVE : XCB_SCREEN_SAVER_RESET).rawValue))
        xcb_flush(raw)
    }

    func rename(_ window: UInt32, _ title: String) {
        set("_NET_WM_NAME", "UTF8_STRING", title, on: window)
        xcb_flush(raw)
    }

    /// Gives it a title as old programs do, with bytes of a type such as `STRING`.
    func renameOldStyle(_ window: UInt32, _ type: String, _ title: [UInt8]) {
        xcb_delete_property(raw, window, atom("_NET_WM_NAME"))
        set("WM_NAME", type, title, on: window)
        xcb_flush(raw)
    }

    func close(_ window: UInt32) {
        xcb_destroy_window(raw, window)
        xcb_flush(raw)
    }

    /// Asks the window manager, as a pager does.
    func focus(_ window: UInt32) { ask("_NET_ACTIVE_WINDOW", window, [2, 0, 0, 0, 0]) }

    func minimise(_ window: UInt32) { ask("WM_CHANGE_STATE", window, [3, 0, 0, 0, 0]) }

    func move(_ window: UInt32, toDesktop number: UInt32) { ask("_NET_WM_DESKTOP", window, [number, 2, 0, 0, 0]) }

    func showDesktop(_ number: UInt32) { ask("_NET_CURRENT_DESKTOP", root, [number, 0, 0, 0, 0]) }

    private func ask(_ name: String, _ window: UInt32, _ data: [UInt32]) {
        var event = xcb_client_message_event_t()
        event.response_type = UInt8(XCB_CLIENT_MESSAGE)
        event.format = 32
        event.window = window
        event.type = atom(name)
        event.data.data32 = (data[0], data[1], data[2], data[3], data[4])
        let events = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue | XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT.rawValue
        withUnsafeBytes(of: event) { bytes in
            _ = xcb_send_event(raw, 0, root, events, bytes.bindMemory(to: CChar.self).baseAddress)
        }
        xcb_flush(raw)
    }
}
