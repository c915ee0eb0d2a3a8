package import ArgumentParser
import Glibc
package import Logging
import NotifyText
import Synchronization

/// Standard input, output and error of a command-line program. All output uses these functions, so that lost output is
/// always an error.
package enum StandardStreams {
    /// Call this before opening a file or a socket.
    ///
    /// If a standard descriptor is closed, the next file or socket gets its number, and output would go there, perhaps
    /// into the connection to the bus. So each closed descriptor is opened in the wrong mode: using it fails.
    package static func prepare() {
        // A write then fails with EPIPE. If that is standard error, the exit code is still that of the original
        // failure.
        signal(SIGPIPE, SIG_IGN)
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            // open() returns the lowest free number, which is this one.
            _ = open("/dev/null", mode)
        }
    }

    /// Writes a whole text to standard output. If that fails, the program ends: with 74 and a message on standard
    /// error, or by SIGPIPE without a message if the reader has exited, like other programs in `… | head -1`.
    package static func write(_ text: String) {
        if let error = failure(of: text, on: STDOUT_FILENO) { endBecauseOutputFailed(error) }
    }

    /// Writes a line to standard error, after the name of the program. A failure is ignored, so that the exit code does
    /// not change.
    package static func complain(_ line: String) { writeToError(programName + ": " + line + "\n") }

    /// Writes a text to standard error, with control characters escaped, because it may quote arguments and replies. A
    /// failure is ignored, as in ``complain(_:)``.
    package static func writeToError(_ text: String) {
        _ = failure(of: text.visible(keepsLines: true), on: STDERR_FILENO)
    }

    /// Ends the program. Some file systems report lost output only on close(2); then 0 becomes 74.
    package static func end(_ code: CInt) -> Never {
        // Closes a duplicate, because other threads may still write.
        let copy = dup(STDOUT_FILENO)
        if copy >= 0, close(copy) != 0, errno != EINTR, code == 0 { endBecauseOutputFailed(errno) }
        exit(code)
    }

    // MARK: Ending

    private static let isWaiting = Atomic(true)
    /// Threads that are in write(2) or poll(2).
    private static let writers = Mutex<[pthread_t]>([])

    /// Whether text may still wait for its reader.
    package static var waitsForReaders: Bool { isWaiting.load(ordering: .acquiring) }

    /// From now on no text waits for its reader: what does not fit into the pipe or the terminal is dropped. For a
    /// program that was told to end while its output is blocked. Writes that are blocked return.
    package static func stopWaiting() {
        guard isWaiting.exchange(false, ordering: .acquiringAndReleasing) else { return }
        var action = sigaction()
        // Without SA_RESTART, it interrupts a system call.
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGURG, &action, nil)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { _ in
                // A signal may come just before the system call, so that it is repeated until the program ends.
                while true {
                    StandardStreams.writers.withLock { for writer in $0 { pthread_kill(writer, SIGURG) } }
                    usleep(20_000)
                }
            }, nil)
    }

    /// Makes a system call that ``stopWaiting()`` interrupts.
    ///
    /// - Returns: its result and, if that is negative, the error number.
    private static func interruptible(_ call: () -> Int) -> (result: Int, error: CInt) {
        // Threads of Dispatch block all signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGURG)
        var blocked = sigset_t()
        pthread_sigmask(SIG_UNBLOCK, &signals, &blocked)
        let thread = pthread_self()
        writers.withLock { $0.append(thread) }
        let result = call()
        let error = errno
        writers.withLock { writers in
            if let index = writers.firstIndex(of: thread) { writers.remove(at: index) }
        }
        pthread_sigmask(SIG_SETMASK, &blocked, nil)
        return (result, error)
    }

    // MARK: The reader

    private static let isReaderWatched = Atomic(false)
    /// Microseconds. A program that has just written its last line ends by itself, with its own exit code.
    private static let readerGrace: UInt32 = 100_000

    /// From now on the program ends soon after the reader of standard output has exited, as it would at its next write;
    /// for programs that may have nothing to write for hours, such as in `… | head -1`.
    package static func endWithReader() {
        guard !isReaderWatched.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { _ in
                // Without events, it waits for nothing but the end of a pipe, a socket or a terminal.
                var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
                while poll(&output, 1, -1) <= 0 {}
                guard Int32(output.revents) & (POLLERR | POLLHUP) != 0 else { return nil }
                usleep(StandardStreams.readerGrace)
                StandardStreams.endBecauseOutputFailed(EPIPE)
            }, nil)
    }

    private static var programName: String {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "notifyd"
    }

    private static func endBecauseOutputFailed(_ error: CInt) -> Never {
        if error == EPIPE {
            signal(SIGPIPE, SIG_DFL)
            var pipe = sigset_t()
            sigemptyset(&pipe)
            sigaddset(&pipe, SIGPIPE)
            pthread_sigmask(SIG_UNBLOCK, &pipe, nil)
            raise(SIGPIPE)
        }
        complain("standard output cannot be written: \(String(cString: strerror(error))).")
        exit(ExitStatus.outputFailed)
    }

    /// - Returns: the error number, if not all was written or dropped.
    private static func failure(of text: String, on descriptor: CInt) -> CInt? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            if !waitsForReaders, !isReady(descriptor, within: 0) { return nil }
            let (count, error) = interruptible {
                rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if error == EAGAIN {
                // Another program made it non-blocking, such as one that shares the terminal.
                _ = interruptible { isReady(descriptor, within: -1) ? 1 : 0 }
            } else if error != EINTR {
                return error
            }
        }
        return nil
    }

    /// - Parameter limit: in milliseconds; -1 for ever.
    private static func isReady(_ descriptor: CInt, within limit: CInt) -> Bool {
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&wait, 1, limit) > 0
    }
}

extension ParsableCommand {
    /// Ends the program with 65 if an argument is not UTF-8. Swift would replace the bytes with U+FFFD, and the program
    /// would send, store or open something else.
    package static func requireTextArguments() {
        for (index, argument) in CommandLine.unsafeArgv.dropName().enumerated() {
            guard let fault = Encoding.firstFault(in: argument) else { continue }
            let byte = String(argument[argument.startIndex + fault], radix: 16)
            StandardStreams.complain(
                "argument \(index + 1) is not UTF-8 text: byte \(fault + 1) is 0x\(byte), in "
                    + "“\(String(decoding: argument, as: UTF8.self).visible())”.")
            StandardStreams.end(ExitStatus.badData)
        }
    }
}

extension UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
    /// The bytes of each argument after the program's name.
    fileprivate func dropName() -> [UnsafeRawBufferPointer] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { self[$0] }.map {
            UnsafeRawBufferPointer(start: $0, count: strlen($0))
        }
    }
}

/// The levels of swift-log, by the names the configuration uses too.
package enum LogLevel: String, CaseIterable, ExpressibleByArgument {
    case trace, debug, info, notice, warning, error, critical

    package var level: Logger.Level? { Logger.Level(rawValue: rawValue) }
}

extension ParsableCommand {
    /// Runs a program whose command is not asynchronous, to its end.
    package static func runToEnd() -> Never {
        StandardStreams.prepare()
        requireTextArguments()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            end(with: error)
        }
        end(with: nil)
    }

    /// Ends the program with the message and the exit code of what a command threw. It replaces `exit(withError:)`,
    /// which does not check whether its message was written.
    ///
    /// - Parameter error: help, a version and a completion script are errors, too; `nil`: the command is done.
    package static func end(with error: (any Error)?) -> Never {
        guard let error else { StandardStreams.end(0) }
        let code = exitCode(for: error)
        let text = fullMessage(for: error)
        if !text.isEmpty {
            if code.isSuccess { StandardStreams.write(text + "\n") } else { StandardStreams.writeToError(text + "\n") }
        }
        StandardStreams.end(code.rawValue)
    }
}
