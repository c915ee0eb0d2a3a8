import Glibc
import NotifyText

/// Standard input, output and error of a command-line program. All output goes through here, so that none is lost without
/// an error.
package enum StandardStreams {
    /// `EX_IOERR` of sysexits.h: standard output could not be written.
    package static let outputFailed: CInt = 74

    /// Call it before anything opens a file or a socket.
    ///
    /// A standard descriptor that is closed would be the number of the next file that is opened, and output would go into
    /// that file, perhaps into the connection to the bus. Here it is opened so that using it fails as it would closed.
    package static func prepare() {
        // A write then fails with EPIPE: for standard error, the exit code stays that of the failure it tells about.
        signal(SIGPIPE, SIG_IGN)
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the one that is given, which is this one.
            _ = open("/dev/null", mode)
        }
    }

    /// Writes all of a text to standard output. Where that fails, the program ends: with 74 and a word on standard error,
    /// or by SIGPIPE and without a word when the reader is gone, as other programs do in `… | head -1`.
    package static func write(_ text: String) {
        if let error = failure(of: text, on: STDOUT_FILENO) { endBecauseOutputFailed(error) }
    }

    /// Writes a line to standard error, after the name of the program. A failure is ignored: there is no place to tell it,
    /// and the program goes on to the exit code it was about to end with.
    package static func complain(_ line: String) { writeToError(programName + ": " + line + "\n") }

    /// Writes a text to standard error, without what a terminal would act on: it may quote arguments and answers. A failure
    /// is ignored, as by ``complain(_:)``.
    package static func writeToError(_ text: String) {
        _ = failure(of: text.visible(keepsLines: true), on: STDERR_FILENO)
    }

    /// Ends the program. Some file systems tell only on closing that what was written is lost; then 0 becomes 74.
    package static func end(_ code: CInt) -> Never {
        // A copy, because other threads may still write.
        let copy = dup(STDOUT_FILENO)
        if copy >= 0, close(copy) != 0, errno != EINTR, code == 0 { endBecauseOutputFailed(errno) }
        exit(code)
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
        exit(outputFailed)
    }

    /// - Returns: the error number, if not all was written.
    private static func failure(of text: String, on descriptor: CInt) -> CInt? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another program made it non-blocking, such as one that shares the terminal.
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wait, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
