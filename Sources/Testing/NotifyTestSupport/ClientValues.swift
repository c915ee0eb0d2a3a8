import NotifyClient

/// Converts lines of a scenario to values of the client.
extension Scenario.EventLine {
    func clientOptions() throws -> PublishOptions {
        var result = PublishOptions()
        for option in options {
            switch (option.name, option.value) {
            case ("banner", .flag(let flag)): result.banner = flag
            case ("retain", .flag(let flag)): result.retain = flag
            case ("window", .duration(let length)): result.window = length
            case ("ttl", .duration(let length)): result.timeToLive = length
            case ("source", .text(let text)): result.source = text
            case ("event-id", .text(let text)): result.eventID = text
            default: throw StageError(description: "an event cannot have \(option)")
            }
        }
        return result
    }
}

extension Attribute.Scalar {
    var clientValue: Value {
        switch self {
        case .text(let text), .word(let text): .string(text)
        case .integer(let number): .int64(number)
        case .flag(let flag): .boolean(flag)
        case .duration(let length): .string(length.written)
        }
    }
}
