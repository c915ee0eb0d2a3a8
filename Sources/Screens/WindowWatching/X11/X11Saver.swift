import Systemd

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
