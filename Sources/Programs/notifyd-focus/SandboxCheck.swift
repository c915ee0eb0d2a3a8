import Glibc
import Systemd

/// Tells sandboxed callers from others: titles of windows are none of their business.
///
/// A sandbox is one of Flatpak (it has a file in its root) or of Snap (by the control group). Whoever cannot be looked
/// at counts as sandboxed.
final class SandboxCheck {
    private static let timeout = Duration.seconds(5)

    private let bus: BusConnection

    init(bus: BusConnection) {
        self.bus = bus
    }

    /// Looks at the process behind a unique name.
    func check(_ name: String, _ answer: @escaping (_ isSandboxed: Bool) -> Void) {
        process(of: name) { [unowned self] process in
            guard let process, !Self.isSandboxed(process) else { return answer(true) }
            // Its number may have been given to another process meanwhile, unless its connection is still there.
            self.process(of: name) { answer($0 != process) }
        }
    }

    private func process(of name: String, _ answer: @escaping (Int32?) -> Void) {
        bus.call(bus.busCall("GetConnectionUnixProcessID", about: name), timeout: Self.timeout) { reply in
            let number: UInt32? = reply.failure == nil ? try? reply.readNumber("u") : nil
            answer(number.flatMap { Int32(exactly: $0) })
        }
    }

    private static func isSandboxed(_ process: Int32) -> Bool {
        var status = stat()
        // Without the right to look into the root, this fails with EACCES.
        guard stat("/proc/\(process)/root/", &status) == 0 else { return true }
        guard stat("/proc/\(process)/root/.flatpak-info", &status) != 0, errno == ENOENT else { return true }
        guard let unit = ProcessIdentity(process: process)?.userUnit else { return false }
        return unit.hasPrefix("snap.")
    }
}
