import ArgumentParser
import NotifyClient
import NotifyJSON
import Routing

/// What `focus --learn` and `desktop --learn` have in common: a rule is made of what is seen next.
enum Learning {
    /// How long to wait for it.
    static let times: ClosedRange<Duration> = .seconds(1)...Duration.seconds(600)
    static let usualTime: Duration = .seconds(60)

    /// The number of captures of a topic; `nil` if it is not one, which `requirePattern` tells as the other commands
    /// do.
    ///
    /// - Throws: if there are more than can be filled.
    static func captures(of topic: String) throws -> Int? {
        guard let captures = try? TopicPattern(topic).captureNames.count else { return nil }
        guard captures <= 1 else {
            throw ValidationError("“--learn” can fill one name in braces, and this topic has \(captures).")
        }
        return captures
    }

    /// - Throws: if it is not a topic, with or without captures.
    static func requirePattern(_ topic: String?) throws {
        guard let topic else { return }
        try TopicFilter.requireSlash(topic)
        do throws(TopicError) { _ = try TopicPattern(topic) } catch {
            throw NotifyError(.invalidArgument, "“\(topic)” is not a topic: \(error)")
        }
    }

    /// Prints the rule that is in a file now.
    static func announce(_ rule: LearnedRule, in file: String, _ output: OutputOptions) {
        output.write(
            .object([("file", .string(file)), ("rule", .string(rule.text))]), text: rule.announcement(in: file))
    }
}
