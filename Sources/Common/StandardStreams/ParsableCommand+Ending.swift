package import ArgumentParser

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
