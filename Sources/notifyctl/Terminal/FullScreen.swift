import Dispatch
import Glibc
import NotifyClient

/// The whole terminal, lent by the user: its other screen, without a cursor, with single keys instead of lines. It is
/// given back as it was by `leave`, and for as long as the user suspends the program.
final class FullScreen: @unchecked Sendable {
    // Proof: `watch` and `keys` are set once and never read, only kept; all else is guarded or constant.

    private static let entering = "\u{1b}[?1049h\u{1b}[?25l"
    private static let leaving = "\u{1b}[?25h\u{1b}[?1049l"

    /// The settings to be restored; `nil` while the terminal is not ours.
    private let former = Guarded<termios?>(nil)
    private let onChange: @Sendable () -> Void
    private var watch: Interruption?
    private var keys: (any DispatchSourceRead)?

    /// Whether there is a terminal that can do it, and somebody to press keys.
    static var isPossible: Bool { Terminal.isInteractive && isatty(STDIN_FILENO) == 1 && !Terminal.isDumb }

    /// - Parameters:
    ///   - onChange: the terminal has another size, or has to be drawn anew.
    ///   - onKey: a key was pressed.
    init(onChange: @escaping @Sendable () -> Void, onKey: @escaping @Sendable (UInt8) -> Void) {
        self.onChange = onChange
        enter()
        watch = Interruption([SIGWINCH, SIGTSTP, SIGCONT]) { [weak self] in self?.handle($0) }
        let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        keys.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            // The terminal is gone.
            if count == 0 { keys.cancel() }
            for key in buffer.prefix(max(0, count)) { onKey(key) }
        }
        keys.activate()
        self.keys = keys
    }

    /// Replaces the picture. It is written in one piece, so that no half of it is ever seen.
    func draw(_ lines: [String]) {
        // A line is erased before it is written: afterwards, the cursor may stand on its last character.
        let picture = "\u{1b}[H" + lines.map { "\u{1b}[2K" + $0 }.joined(separator: "\r\n") + "\u{1b}[J"
        former.withLock { if $0 != nil { Terminal.write(picture) } }
    }

    /// Gives the terminal back.
    func leave() {
        former.withLock { former in
            guard var settings = former else { return }
            Terminal.write(Self.leaving)
            tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
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
            // Ctrl-C and Ctrl-Z stay signals.
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
            Terminal.write(Self.entering)
        }
    }

    private func handle(_ signal: CInt) {
        switch signal {
        case SIGTSTP: suspend()
        // Whoever stopped us with SIGSTOP has used the terminal meanwhile.
        case SIGCONT: if former.withLock({ $0 != nil }) { enter() }
        default: break
        }
        onChange()
    }

    private func suspend() {
        leave()
        // Taken as everybody takes it, on this thread, so that the next line is reached when the user wants us back.
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
