import ArgumentParser
import NotifyClient

/// An event as it is named on the command line: by its id, or as the last one.
enum EventArgument: ExpressibleByArgument, Hashable, Sendable {
    case id(EventID)
    case last

    init?(argument: String) {
        if argument == "last" {
            self = .last
        } else if let id = UInt64(argument) {
            self = .id(EventID(rawValue: id))
        } else {
            return nil
        }
    }

    /// - Throws: `ExitCode.nothing`, when there is no event at all.
    func find(_ client: NotifyClient) async throws -> EventID {
        switch self {
        case .id(let id): return id
        case .last:
            if let last = try await Archive(client: client, topic: "/").last(1).last { return last.event.id }
            Terminal.complain("There is no event yet.")
            throw ExitCode.nothing
        }
    }
}
