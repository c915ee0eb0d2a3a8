import ArgumentParser
import Routing

/// A duration on the command line, as in the configuration: `100ms`, `5s`, `10m`, `2h`.
struct DurationArgument: Hashable, Sendable {
    let duration: Duration

    static func parse(_ text: String) throws -> DurationArgument {
        guard let duration = Duration(text: text) else {
            throw ValidationError(
                "“\(text)” is not a time. Write a whole number and a unit, such as 100ms, 5s, 10m, 2h or 28d; the longest is 366d."
            )
        }
        return DurationArgument(duration: duration)
    }

    /// For what notifyd counts in seconds.
    static func parseSeconds(_ text: String) throws -> DurationArgument {
        let argument = try parse(text)
        guard argument.duration.components.attoseconds == 0 else {
            throw ValidationError(
                "“\(text)” is not a number of whole seconds. Write a time such as 1s, 10m, 2h or 28d.")
        }
        return argument
    }
}
