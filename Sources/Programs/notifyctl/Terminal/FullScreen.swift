import Dispatch
import Glibc
import NotifyClient
import StandardStreams

/// The alternate screen of the terminal, without a cursor and without line buffering. `leave` restores the terminal, and so does
/// suspending the program.
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
            tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
            Terminal.write(Self.entering)
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
        // The default action, on this thread: the next line runs when the user resumes the program.
        signal(SIGTSTP, SIG_DFL)
        var stop = sigset_t()
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        var blocked = sigset_t()
        pthread_sigmask(SIG_UNBLOCK, &stop, &blocked)
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &blocked, nil)
        signal(SIGTSTP, SIG_IGN)
        enter()
    }
}
