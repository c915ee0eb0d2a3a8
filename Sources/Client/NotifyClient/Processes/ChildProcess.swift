@preconcurrency package import Glibc
import UserFiles

/// A program that notifyctl, a test or a measurement has started. The daemon has its own `ChildProcess` in `Systemd`:
/// it watches children with its event loop, and this one with threads.
///
/// The child is killed when this object is released, and also when this process is killed: a small shell waits for end
/// of file on a socket that only this process holds, and then kills the child. `PR_SET_PDEATHSIG` does not serve,
/// because it fires when the *thread* that started the child ends. Nor does swift-subprocess: it has no such guard, and
/// its child lives only as long as one call of `run`.
package final class ChildProcess: Sendable {
    package enum Exit: Hashable, Sendable, CustomStringConvertible {
        case code(CInt)
        case signal(CInt)

        /// For people: `exit code 1`, `signal 9`.
        package var description: String {
            switch self {
            case .code(let code): "exit code \(code)"
            case .signal(let number): "signal \(number)"
            }
        }
    }

    package let identifier: pid_t
    private let lifetime: Lifetime
    private let inOwnGroup: Bool
    private let captured: [CInt: Output]

    /// - Parameters:
    ///   - program: a path, or a name that is looked for in `$PATH`.
    ///   - environment: the whole environment; nothing is inherited.
    ///   - capturing: descriptors of the child whose lines are collected. It inherits the others.
    ///   - input: its standard input, instead of the inherited one; the caller closes it.
    ///   - folder: removed by the shell if this process is killed.
    ///   - inOwnGroup: signals go to the child and to every process it started; but it outlives this process.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String],
        capturing descriptors: [CInt] = [], input: CInt? = nil, removing folder: String? = nil,
        inOwnGroup: Bool = false
    ) throws(ProcessError) {
        var handed: [CInt: CInt] = [:]
        var kept: [CInt: CInt] = [:]
        defer { for end in handed.values { close(end) } }
        for descriptor in descriptors {
            let pair = try socketPair()
            kept[descriptor] = pair.0
            handed[descriptor] = pair.1
        }
        var streams = handed
        if let input { streams[STDIN_FILENO] = input }
        let child = spawn(
            [program] + arguments, environment: environment, descriptors: streams, inOwnGroup: inOwnGroup)
        guard child > 0 else { throw ProcessError("\(program) cannot be started", number: -child) }
        let guardian = inOwnGroup ? nil : try ParentDeathGuard(of: child, removing: folder)

        identifier = child
        let lifetime = Lifetime(child: child, isGroup: inOwnGroup)
        self.lifetime = lifetime
        self.inOwnGroup = inOwnGroup
        captured = kept.mapValues { Output(of: $0) }
        onOwnThread { lifetime.waitForExit(guardian) }
    }

    deinit {
        if !inOwnGroup { lifetime.signal(SIGKILL) }
    }

    /// The lines the child wrote to a captured descriptor.
    package func lines(of descriptor: CInt) -> Mailbox<String> { captured[descriptor]?.lines ?? Mailbox() }

    /// All lines written to a captured descriptor, once it is at end of file; `nil` when that takes too long.
    package func allLines(of descriptor: CInt, within limit: Duration = .seconds(10)) async -> [String]? {
        guard let output = captured[descriptor] else { return [] }
        guard await output.end.next(within: limit) != nil else { return nil }
        output.end.put(())
        return output.lines.all
    }

    /// Sends a signal, unless the child has ended.
    package func signal(_ number: CInt) { lifetime.signal(number) }

    /// How the child ended, or `nil` while it runs.
    package var exit: Exit? { lifetime.exit }

    /// Waits until the child has ended; `nil` when it does not end in time.
    package func waitForExit(within limit: Duration = .seconds(10)) async -> Exit? {
        if let exit { return exit }
        return await lifetime.end.next(within: limit).map { exit in
            lifetime.end.put(exit)
            return exit
        }
    }

    /// Sends SIGTERM, and SIGKILL if the child has not ended within the limit.
    @discardableResult
    package func end(within limit: Duration = .seconds(5)) async -> Exit? {
        signal(SIGTERM)
        if let exit = await waitForExit(within: limit) { return exit }
        signal(SIGKILL)
        return await waitForExit(within: limit)
    }

    /// The environment of this process.
    package static var currentEnvironment: [String: String] { ProcessEnvironment.variables }
}

/// What is known about a child. A signal and the reaping exclude each other, so no signal ever goes to another
/// process that got the same number.
private final class Lifetime: Sendable {
    private let child: pid_t
    private let state = Locked<ChildProcess.Exit?>(nil)
    let end = Mailbox<ChildProcess.Exit>()

    private let isGroup: Bool

    init(child: pid_t, isGroup: Bool) {
        self.child = child
        self.isGroup = isGroup
    }

    var exit: ChildProcess.Exit? { state.withLock { $0 } }

    func signal(_ number: CInt) {
        state.withLock { exit in
            if exit == nil { kill(isGroup ? -child : child, number) }
        }
    }

    func waitForExit(_ guardian: ParentDeathGuard?) {
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        // Before the child is reaped: afterwards its process id may be reused.
        guardian?.release()
        var status: CInt = 0
        let exit: ChildProcess.Exit = state.withLock { state in
            while waitpid(child, &status, 0) < 0 && errno == EINTR {}
            let exit: ChildProcess.Exit =
                status & 0x7f == 0 ? .code((status >> 8) & 0xff) : .signal(status & 0x7f)
            state = exit
            return exit
        }
        end.put(exit)
    }
}

/// The shell that kills a child when this process's end of the socket is closed without a message.
private struct ParentDeathGuard: Sendable {
    private let shell: pid_t
    private let end: CInt

    init(of child: pid_t, removing folder: String?) throws(ProcessError) {
        let script =
            "trap '' INT TERM HUP QUIT; read -r _ || { kill -KILL \"$1\"; [ -z \"$2\" ] || rm -rf -- \"$2\"; }"
        let ends = try socketPair()
        defer { close(ends.1) }
        end = ends.0
        shell = spawn(
            ["/bin/sh", "-c", script, "sh", String(child), folder ?? ""], environment: ["PATH": "/usr/bin:/bin"],
            descriptors: [0: ends.1])
        guard shell > 0 else { throw ProcessError("/bin/sh cannot be started", number: -shell) }
    }

    func release() {
        var newline = UInt8(ascii: "\n")
        send(end, &newline, 1, CInt(MSG_NOSIGNAL))
        close(end)
        var status: CInt = 0
        while waitpid(shell, &status, 0) < 0 && errno == EINTR {}
    }
}

/// The sockets are close-on-exec from the start; the ends of a pipe would be inherited by a child started at the same
/// moment.
private func socketPair() throws(ProcessError) -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw ProcessError("No socket can be created: \(String(cString: strerror(errno))).")
    }
    return (ends[0], ends[1])
}

/// What a child writes. A thread of its own reads it to the end, because a full socket would block the child.
private struct Output: Sendable {
    let lines = Mailbox<String>()
    let end = Mailbox<Void>()

    init(of descriptor: CInt) {
        onOwnThread { [self] in collect(descriptor) }
    }

    private func collect(_ descriptor: CInt) {
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            for byte in buffer[..<count] {
                if byte == UInt8(ascii: "\n") {
                    lines.put(String(decoding: line, as: UTF8.self))
                    line = []
                } else {
                    line.append(byte)
                }
            }
        }
        if !line.isEmpty { lines.put(String(decoding: line, as: UTF8.self)) }
        close(descriptor)
        end.put(())
    }
}

/// Why a program could not be started, or did not do what it was started for.
package struct ProcessError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// The error number of the system call that failed; 0 if none did.
    package let number: CInt

    /// - Parameter number: if it is not 0, the description has its text from strerror(3).
    package init(_ text: String, number: CInt = 0) {
        description = number == 0 ? text : "\(text): \(String(cString: strerror(number)))."
        self.number = number
    }
}

/// Runs work that blocks for long on a thread of its own. Dispatch has at most 255 threads for the whole process:
/// waiting for that many children would leave none for connections.
package func onOwnThread(_ work: @escaping @Sendable () -> Void) {
    guard startThread(work) == 0 else { fatalError("no thread can be created") }
}

/// Runs work on a thread of its own, which gets no signals: they are for the threads of the program.
///
/// - Returns: 0, or the error number of pthread_create(3).
func startThread(_ work: @escaping @Sendable () -> Void) -> CInt {
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let context = Unmanaged.passRetained(Work(work))
    var thread = pthread_t()
    let error = pthread_create(&thread, nil, run, context.toOpaque())
    if error == 0 { pthread_detach(thread) } else { context.release() }
    return error
}

private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Releases the reference that `startThread` retained.
private let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
    return nil
}
