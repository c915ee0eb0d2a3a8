internal import CDesktop
import DequeModule
import Glibc
import Systemd

/// A connection to an X server that waits for no reply: what it asks is answered on the loop.
final class X11Connection {
    /// The bytes of a property, and the width of its numbers.
    struct Property {
        let bytes: [UInt8]
        /// The atom of its type; 0 if there is no property.
        let type: UInt32
        /// Whether the window is gone.
        var isOfNoWindow = false

        /// The first of its numbers.
        var number: UInt32? {
            bytes.count < 4 ? nil : bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        }

        /// 32-bit numbers, in the order of this machine.
        var numbers: [UInt32] {
            bytes.withUnsafeBytes { buffer in
                (0..<buffer.count / 4).map { buffer.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
            }
        }

        /// Text: a `STRING` is ISO 8859-1 (ICCCM 2.7.1). That of other types, such as `COMPOUND_TEXT`, is not
        /// understood, and empty.
        ///
        /// - Parameter utf8: the atom of `UTF8_STRING`.
        func text(utf8: UInt32) -> String {
            switch type {
            case utf8: String(decoding: bytes, as: UTF8.self)
            case XCB_ATOM_STRING.rawValue:
                String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
            default: ""
            }
        }
    }

    /// What has happened to a watched window, or to the screen saver.
    enum Change {
        case property(atom: UInt32, window: UInt32)
        case destroyed(UInt32)
        case saver(isActive: Bool)
    }

    private typealias Answer = (UnsafeMutableRawPointer?) -> Void

    private let raw: OpaquePointer
    let root: UInt32
    /// Replies come in the order of the requests.
    private var awaited: Deque<(sequence: UInt32, answer: Answer)> = []
    /// How many of those were sent to the server; the others cannot have been answered.
    private var sent = 0
    private var source: EventSource?
    /// The number of the screen saver's event.
    private var saverEvent: UInt8?
    private let changed: (Change) -> Void
    private let drained: () -> Void
    private let lost: () -> Void

    /// - Parameters:
    ///   - changed: something has happened to a watched window, or to the screen saver.
    ///   - drained: all that has come was handled.
    ///   - lost: the connection is gone. The object may be dropped then.
    init(
        display: String, loop: EventLoop, changed: @escaping (Change) -> Void, drained: @escaping () -> Void,
        lost: @escaping () -> Void
    ) throws {
        self.changed = changed
        self.drained = drained
        self.lost = lost
        var number: CInt = 0
        raw = xcb_connect(display, &number)
        guard xcb_connection_has_error(raw) == 0 else {
            xcb_disconnect(raw)
            throw SourceFailure("the X server \(display) cannot be reached")
        }
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        while number > 0, screens.rem > 1 {
            xcb_screen_next(&screens)
            number -= 1
        }
        root = screens.data.pointee.root
        source = try loop.input(xcb_get_file_descriptor(raw)) { [unowned self] in drain() }
    }

    deinit {
        source = nil
        xcb_disconnect(raw)
    }

    // MARK: Requests

    /// Asks for the number of a name.
    func intern(_ name: String, _ answer: @escaping (UInt32) -> Void) {
        let cookie = xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name)
        expectReply(cookie.sequence) { reply in
            answer(
                reply?.assumingMemoryBound(to: xcb_intern_atom_reply_t.self).pointee.atom ?? XCB_ATOM_NONE.rawValue)
        }
    }

    private func expectReply(_ sequence: UInt32, _ answer: @escaping Answer) { awaited.append((sequence, answer)) }

    /// Asks for a property, of which it reads so many bytes. A window that is gone, or has none, has an empty one.
    func property(_ atom: UInt32, of window: UInt32, upTo bytes: Int, _ answer: @escaping (Property) -> Void) {
        let cookie = xcb_get_property(raw, 0, window, atom, 0, 0, UInt32((bytes + 3) / 4))
        expectReply(cookie.sequence) { reply in
            guard let reply = reply?.assumingMemoryBound(to: xcb_get_property_reply_t.self),
                let value = xcb_get_property_value(reply)
            else { return answer(Property(bytes: [], type: 0, isOfNoWindow: true)) }
            let bytes = UnsafeRawBufferPointer(start: value, count: Int(xcb_get_property_value_length(reply)))
            answer(Property(bytes: Array(bytes), type: reply.pointee.type))
        }
    }

    /// From now on reports changes of the properties of a window, and its end.
    func watch(_ window: UInt32) {
        select(XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue | XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue, window)
    }

    func ignore(_ window: UInt32) {
        select(0, window)
    }

    /// Reports whether the screen saver is active, and from now on when that changes; MIT-SCREEN-SAVER 1.1. A server
    /// without it has none.
    func watchSaver() {
        let name = "MIT-SCREEN-SAVER"
        let cookie = xcb_query_extension(raw, UInt16(name.utf8.count), name)
        expectReply(cookie.sequence) { [unowned self] reply in
            guard let reply = reply?.assumingMemoryBound(to: xcb_query_extension_reply_t.self),
                reply.pointee.present != 0
            else { return }
            saverEvent = reply.pointee.first_event
            let number = reply.pointee.major_opcode
            _ = notifyd_saver_request(raw, number, UInt8(NOTIFYD_SAVER_SELECT), root)
            let sequence = notifyd_saver_request(raw, number, UInt8(NOTIFYD_SAVER_QUERY), root)
            expectReply(sequence) { [unowned self] in if let reply = $0 { reportSaver(reply) } }
        }
    }

    /// A reply and an event both have the state in the second byte: off, on, on again, or disabled.
    private func reportSaver(_ message: UnsafeMutableRawPointer) {
        changed(.saver(isActive: [1, 2].contains(message.load(fromByteOffset: 1, as: UInt8.self))))
    }

    private func select(_ events: UInt32, _ window: UInt32) {
        withUnsafePointer(to: events) {
            _ = xcb_change_window_attributes(raw, window, XCB_CW_EVENT_MASK.rawValue, $0)
        }
    }

    // MARK: The loop

    /// Handles all that has come, and what comes of it. Call it after the first requests, too.
    func drain() {
        // This reads once. The loop reports what comes later, unless libxcb reads it while it looks for a reply or
        // writes.
        var event = xcb_poll_for_event(raw)
        var bytes: UInt64
        repeat {
            bytes = xcb_total_read(raw)
            while let next = event {
                handle(next)
                free(next)
                event = xcb_poll_for_queued_event(raw)
            }
            while sent > 0, let first = awaited.first, poll(first) {}
            xcb_flush(raw)
            sent = awaited.count
            event = xcb_poll_for_queued_event(raw)
        } while event != nil || xcb_total_read(raw) != bytes
        drained()
        if xcb_connection_has_error(raw) != 0 {
            source = nil
            lost()
        }
    }

    private func handle(_ event: UnsafeMutablePointer<xcb_generic_event_t>) {
        // The highest bit is set if another client has sent it; errors, of windows that are gone, have the type 0.
        switch CInt(event.pointee.response_type) {
        case saverEvent.map(CInt.init): reportSaver(event)
        case XCB_PROPERTY_NOTIFY:
            event.withMemoryRebound(to: xcb_property_notify_event_t.self, capacity: 1) {
                changed(.property(atom: $0.pointee.atom, window: $0.pointee.window))
            }
        case XCB_DESTROY_NOTIFY:
            event.withMemoryRebound(to: xcb_destroy_notify_event_t.self, capacity: 1) {
                changed(.destroyed($0.pointee.window))
            }
        default: break
        }
    }

    /// - Returns: whether the reply is there.
    private func poll(_ request: (sequence: UInt32, answer: Answer)) -> Bool {
        var reply: UnsafeMutableRawPointer?
        var error: UnsafeMutablePointer<xcb_generic_error_t>?
        guard xcb_poll_for_reply(raw, request.sequence, &reply, &error) != 0 else { return false }
        awaited.removeFirst()
        sent -= 1
        request.answer(reply)
        free(reply)
        free(error)
        return true
    }
}

/// Whether the screen saver of an X server is active: its screens are dark, or show nothing of the windows.
final class X11Saver {
    private(set) var isActive = false
    private var connection: X11Connection?

    /// - Parameter onChange: `isActive` has changed.
    /// - Returns: `nil` if the server cannot be reached.
    init?(display: String, loop: EventLoop, onChange: @escaping () -> Void) {
        connection = try? X11Connection(
            display: display, loop: loop,
            changed: { [unowned self] change in
                guard case .saver(let isActive) = change, isActive != self.isActive else { return }
                self.isActive = isActive
                onChange()
            }, drained: {},
            lost: { [unowned self] in
                connection = nil
                isActive = false
                onChange()
            })
        guard let connection else { return nil }
        connection.watchSaver()
        connection.drain()
    }
}
