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

    /// Takes the whole terminal until the task is cancelled or a key ends it.
    ///
    /// - Parameters:
    ///   - bell: rings after each change of what is shown.
    ///   - onInput: receives what is typed; whether that ends it.
    ///   - draw: the lines for a size in columns and rows.
    ///   - pause: waits for the next frame.
    static func run(
        _ bell: Bell, onInput: @escaping @Sendable ([UInt8]) -> Bool, draw: (_ width: Int, _ height: Int) -> [String],
        pause: () async -> Void
    ) async {
        let isEnded = Locked(false)
        let screen = FullScreen(onChange: bell.ring) { bytes in
            if onInput(bytes) { isEnded.withLock { $0 = true } }
            bell.ring()
        }
        defer { screen.leave() }
        while !Task.isCancelled, !isEnded.withLock(\.self) {
            let size = Terminal.size ?? (80, 24)
            screen.draw(draw(size.columns, size.rows))
            await pause()
        }
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

/// A key of a terminal.
enum Key: Hashable, Sendable {
    /// A character that can be printed, such as a letter or a space.
    case character(Character)
    case up, down, pageUp, pageDown, home, end
    case enter, backspace, escape
}

/// Makes keys of the bytes that a terminal sends: UTF-8, control characters, and the escape sequences of xterm(1).
///
/// A terminal sends a sequence at once, so an escape character at the end of what was read is the key.
struct KeyDecoder: Sendable {
    /// The longest escape sequence that is waited for. A longer one is not a key.
    private static let longest = 32
    private static let escape: UInt8 = 0x1b

    /// The beginning of a sequence or a character whose end has not been read yet.
    private var rest: [UInt8] = []

    mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
        var input = rest[...] + Array(bytes)[...]
        var keys: [Key] = []
        while let first = input.first {
            guard let (key, length) = Self.key(first, input) else { break }
            if let key { keys.append(key) }
            input = input.dropFirst(length)
        }
        rest = input.count > Self.longest ? [] : Array(input)
        return keys
    }

    /// The first key and its length; without a key if it has no meaning here, and `nil` if its end is missing.
    private static func key(_ first: UInt8, _ input: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        switch first {
        case escape: return sequence(input)
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return (.enter, 1)
        case 0x7f, 0x08: return (.backspace, 1)
        case 0x20..<0x7f: return (.character(Character(Unicode.Scalar(first))), 1)
        case 0xc2..<0xf5:
            let length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
            guard input.count >= length else { return nil }
            guard let text = String(validating: input.prefix(length), as: UTF8.self), let character = text.first else {
                return (nil, 1)
            }
            return (
                character.unicodeScalars.contains { $0.properties.generalCategory == .control }
                    ? nil
                    : .character(character), length
            )
        default: return (nil, 1)
        }
    }

    /// `ESC [ … X` and `ESC O X`.
    private static func sequence(_ input: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        let body = input.dropFirst()
        guard let kind = body.first else { return (.escape, 1) }
        guard kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = body.dropFirst().firstIndex(where: { (0x40..<0x7f).contains($0) }) else { return nil }
        let parameters = body[body.index(after: body.startIndex)..<end].prefix { (0x30..<0x3a).contains($0) }
        return (
            key(body[end], number: String(decoding: parameters, as: UTF8.self)),
            input.distance(from: input.startIndex, to: end) + 1
        )
    }

    private static func key(_ final: UInt8, number: String) -> Key? {
        switch (final, number) {
        case (UInt8(ascii: "A"), _): .up
        case (UInt8(ascii: "B"), _): .down
        case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
        case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
        case (UInt8(ascii: "~"), "5"): .pageUp
        case (UInt8(ascii: "~"), "6"): .pageDown
        default: nil
        }
    }
}

/// Wakes a task. Rings while it does not wait are one ring.
final class Bell: Sendable {
    private let (rings, rope) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func ring() { rope.yield() }

    /// Waits for a ring, or for the end of the task.
    func wait() async {
        for await _ in rings { return }
    }

    /// Rings regularly until the task is cancelled.
    func ring(every period: Duration) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: period)
            ring()
        }
    }

    /// Rings when the daemon comes or goes, or what holds banners back changes, until the task is cancelled. It does
    /// not start the daemon.
    ///
    /// - Parameter address: of the bus.
    func ringForDaemon(on address: String) async {
        let properties = MatchRule(
            sender: Router.name, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
        while !Task.isCancelled {
            let (end, ending) = AsyncStream.makeStream(of: Never.self)
            let connection = try? await Connection.open(
                address, onSignal: { _ in self.ring() }, onClose: { ending.finish() })
            if let connection {
                for rule in [.ownerChanged(of: Router.name), properties] { try? await connection.addMatch(rule) }
                ring()
                for await _ in end {}
                connection.close()
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}

/// Receives what is announced at a topic until the task is cancelled. If the reader was too slow and missed something,
/// it subscribes again.
///
/// - Throws: `closed`, and errors of the subscription.
func listen<Element: Sendable>(
    to subscribe: ([String], Int) async throws -> Subscription<Element>, at topic: String,
    onMiss: () -> Void = {}, _ receive: (Element) -> Void
) async throws {
    while !Task.isCancelled {
        do {
            for try await element in try await subscribe([topic], 4096) { receive(element) }
        } catch let error as NotifyError where error.code == .readerTooSlow {
            onMiss()
        }
    }
}
