internal import CSystemd
import Glibc
import UserFiles

/// A child process whose exit the loop reports; posix_spawn(3) and sd_event_add_child(3).
///
/// SIGCHLD must have been blocked with `EventLoop.blockSignals`. The program starts with no signal blocked, with the
/// standard streams of this process by default, and without its other file descriptors.
public final class ChildProcess {
    private var source: OpaquePointer?
    private let ended: (ChildEnd) -> Void

    private init(_ ended: @escaping (ChildEnd) -> Void) { self.ended = ended }

    deinit { sd_event_source_disable_unref(source) }

    /// Starts a program, which is looked up in `PATH`.
    ///
    /// - Parameters:
    ///   - vector: the program and its arguments; not empty.
    ///   - environment: added to this process's environment, or replacing variables of it.
    ///   - output: the descriptor for its standard output, instead of ours.
    ///   - ended: called on the loop when the program has ended.
    public static func start(
        _ vector: [String], environment added: [(name: String, value: String)] = [], output: CInt? = nil,
        on loop: EventLoop, ended: @escaping (ChildEnd) -> Void
    ) throws(SystemdError) -> ChildProcess {
        // The service manager's variables for a service are not meant for its children.
        let ours = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"]
        let inherited = ProcessEnvironment.variables.filter { !ours.contains($0.key) }
        let environment = inherited.merging(added.map { ($0.name, $0.value) }) { $1 }
        let pid = spawn(vector, environment: environment, descriptors: output.map { [STDOUT_FILENO: $0] } ?? [:])
        guard pid > 0 else { throw SystemdError(code: -pid, call: "posix_spawnp") }

        let child = ChildProcess(ended)
        try check(
            sd_event_add_child(
                loop.raw, &child.source, pid, WEXITED, onChild, Unmanaged.passUnretained(child).toOpaque()),
            "sd_event_add_child")
        return child
    }

    fileprivate func end(_ information: siginfo_t) {
        ended(information.si_code == CLD_EXITED ? .exited(information.status) : .killed(information.status))
    }
}

/// How a program ended.
public enum ChildEnd: Equatable, Sendable, CustomStringConvertible {
    case exited(CInt)
    case killed(CInt)

    public var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .killed(let signal): "signal \(signal)"
        }
    }
}

extension siginfo_t {
    /// `si_status`, which is a macro that Swift does not see.
    fileprivate var status: CInt { notifyd_child_status(self) }
}

private let onChild: sd_event_child_handler_t = { _, information, context in
    Unmanaged<ChildProcess>.fromOpaque(context!).takeUnretainedValue().end(information!.pointee)
    return 0
}
