import Dispatch
import Glibc
import NotifyClient
import StandardStreams

/// The alternate screen of the terminal, without a cursor and without line buffering. `leave` restores the terminal,
/// and so does suspending the program.
final class FullScreen: @unchecked Sendable {
    // Proof: `watch` and `keys` are set once and only retained; everything else is locked or constant.

    private static let entering = "\u{1b}[?1049h\u{1b}[?25l"
    private static let leaving = "\u{1b}[?25h\u{1b}[?1049l"

    /// The settings to restore; `nil` while the terminal is not in use.
    private let former = Locked<termios?>(nil)
    private let onChange: @Sendable () -> Void
    private var watch: TerminationSignals?
    private var keys: (any DispatchSourceRead)?

    /// Whether standard input and output are a terminal with an alternate screen.
    static var isPossible: Bool { Terminal.isInteractive && isatty(STDIN_FILENO) == 1 && !Terminal.isDumb }

    /// - Parameters:
    ///   - onChange: called when the terminal was resized or must be redrawn.
    ///   - onInput: called with the bytes that were typed; see ``KeyDecoder``.
    init(onChange: @escaping @Sendable () -> Void, onInput: @escaping @Sendable ([UInt8]) -> Void) {
        self.onChange = onChange
        enter()
        watch = TerminationSignals([SIGWINCH, SIGTSTP, SIGCONT]) { [weak self] in self?.handle($0) }
        let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        keys.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            // The terminal is gone.
            if count == 0 { keys.cancel() }
            if count > 0 { onInput(Array(buffer[..<count])) }
        }
        keys.activate()
        self.keys = keys
    }

    /// Replaces the frame with one write, so that no partial frame is visible.
    func draw(_ lines: [String]) {
        // A line is erased before it is written: afterwards the cursor may be on its last character.
        let picture = "\u{1b}[H" + lines.map { "\u{1b}[2K" + $0 }.joined(separator: "\r\n") + "\u{1b}[J"
        former.withLock { if $0 != nil { Terminal.write(picture) } }
    }

    func leave() {
        former.withLock { former in
            guard var settings = former else { return }
            Terminal.write(Self.leaving)
            if !StandardStreams.waitsForReaders {
                // Perhaps Ctrl-S has stopped the terminal. Without this flag it continues, see termios(3).
                var unstopped = settings
                unstopped.c_iflag &= ~tcflag_t(IXON)
                tcsetattr(STDIN_FILENO, TCSANOW, &unstopped)
                // Perhaps nobody reads the terminal. What it has not taken yet is of no use any more.
                var wait = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                if poll(&wait, 1, 0) == 0 { tcflush(STDOUT_FILENO, TCOFLUSH) }
                Terminal.write(Self.leaving)
            }
            // Not TCSADRAIN, which waits for a stopped terminal.
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            former = nil
        }
    }

    private func enter() {
        former.withLock { former in
            if former == nil {
                var settings = termios()
                guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
                former = settings
            }
            guard var settings = former else { return }
            // Ctrl-C and Ctrl-Z still send signals.
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            Self.set(settings)
            Terminal.write(Self.entering)
        }
    }

    /// Changes the settings of the terminal. In the background that stops the program by SIGTTOU until the user resumes
    /// it in the foreground.
    private static func set(_ settings: termios) {
        var settings = settings
        // Nothing is on the terminal that would have to be taken back. So a signal that ends a stopped program ends it.
        let isInBackground = tcgetpgrp(STDIN_FILENO) != getpgrp()
        withDefaultActions(of: isInBackground ? [SIGINT, SIGTERM, SIGHUP] : [], unblocking: SIGTTOU) {
            while tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) != 0, errno == EINTR {}
        }
    }

    private func handle(_ signal: CInt) {
        switch signal {
        case SIGTSTP: suspend()
        // After SIGSTOP another program may have changed the terminal.
        case SIGCONT: if former.withLock({ $0 != nil }) { enter() }
        default: break
        }
        onChange()
    }

    private func suspend() {
        leave()
        // On this thread: the next line runs when the user resumes the program.
        Self.withDefaultActions(of: [SIGTSTP], unblocking: SIGTSTP) { _ = raise(SIGTSTP) }
        enter()
    }

    /// Runs `body` on this thread with the default actions of signals, which Dispatch replaces and its threads block.
    ///
    /// - Parameter other: a signal that is unblocked as well, and keeps its action.
    private static func withDefaultActions(of signals: [CInt], unblocking other: CInt, _ body: () -> Void) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, other)
        var defaults = sigaction()
        defaults.__sigaction_handler.sa_handler = SIG_DFL
        let former = signals.map { number in
            var former = sigaction()
            sigaction(number, &defaults, &former)
            sigaddset(&set, number)
            return former
        }
        var blocked = sigset_t()
        pthread_sigmask(SIG_UNBLOCK, &set, &blocked)
        body()
        pthread_sigmask(SIG_SETMASK, &blocked, nil)
        for (number, action) in zip(signals, former) {
            var action = action
            sigaction(number, &action, nil)
        }
    }
}
