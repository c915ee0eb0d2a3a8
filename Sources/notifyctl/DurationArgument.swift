import ArgumentParser
import Routing

/// A time as people write it, and as configurations do: `100ms`, `5s`, `10m`, `2h`.
struct DurationArgument: ExpressibleByArgument, Hashable, Sendable {
    let duration: Duration

    var defaultValueDescription: String { duration.text }

    init?(argument: String) {
        guard let duration = Duration(text: argument) else { return nil }
        self.duration = duration
    }
}
