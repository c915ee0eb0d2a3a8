import ArgumentParser
import NotifyClient

/// Where the bus is.
struct BusOptions: ParsableArguments {
    @Option(help: "The D-Bus address of the bus, instead of the session bus.")
    var address: String?

    /// Connects, and makes sure that notifyd answers, so that what is wrong with it is known at once.
    ///
    /// - Parameter starting: whether the bus is asked to start it.
    func connect(starting: Bool = true) async throws(NotifyError) -> NotifyClient {
        let client = try await NotifyClient(address: address)
        do throws(NotifyError) {
            _ = try await client.version()
        } catch {
            switch error.code {
            case .timedOut: throw error
            case .notReachable where error.name == NotifyError.badConfiguration: throw error
            case .notReachable where error.name != nil:
                if let address = address ?? NotifyClient.sessionBusAddress {
                    try await Activation(address: address).perform(starting: starting)
                }
            // The command itself hears what is wrong.
            default: break
            }
        }
        return client
    }
}

/// How results are written.
struct OutputOptions: ParsableArguments {
    enum JSONStyle: String, ExpressibleByArgument, CaseIterable { case off, short, pretty }

    @Option(name: .customLong("json"), help: "Write JSON: off, short (one line each) or pretty.")
    var style: JSONStyle?

    @Flag(name: .customShort("j"), help: "Like --json=pretty on a terminal, else like --json=short.")
    var isJSON = false

    func validate() throws {
        if isJSON && style != nil { throw ValidationError("Give either -j or --json, not both.") }
    }

    var json: JSONStyle { style ?? (isJSON ? (Terminal.isInteractive ? .pretty : .short) : .off) }

    /// Writes `value` if JSON is wanted, else the text if there is any.
    func write(_ value: @autoclosure () -> JSON, text: @autoclosure () -> String?) {
        switch json {
        case .off: if let text = text() { Terminal.print(text) }
        case .short: Terminal.print(value().text(pretty: false))
        case .pretty: Terminal.print(value().text(pretty: true))
        }
    }
}

extension ParsableArguments {
    /// For commands that end after so many lines or pictures: none would be no use of them.
    func requireOneOrMore(_ count: Int?) throws {
        if let count, count < 1 { throw ValidationError("-n takes a number from 1 upwards.") }
    }
}
