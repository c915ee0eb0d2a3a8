import ArgumentParser
import NotifyClient
import NotifyJSON

struct BusOptions: ParsableArguments {
    @Option(help: "The D-Bus address of the bus, instead of the session bus.")
    var address: String?

    /// How long a command that only reads waits for the first answer, as long as “doctor”.
    private static let readingPatience = BusQuery.timeout * 2

    /// Connects, and checks that notifyd answers, so that errors are reported early.
    ///
    /// - Parameters:
    ///   - starting: whether the bus may start it.
    ///   - reading: whether the command changes nothing, so that nothing is lost if it gives up early.
    func connect(starting: Bool = true, reading: Bool = false) async throws(NotifyError) -> NotifyClient {
        let client = try await NotifyClient(address: address)
        do throws(NotifyError) {
            _ = try await client.version(within: reading ? Self.readingPatience : Connection.usualTimeout)
        } catch {
            switch error.code {
            case .timedOut:
                let process = await client.process(of: Router.name).map { ", process \($0)" } ?? ""
                throw NotifyError(
                    .timedOut,
                    "notifyd is on the bus\(process), but it does not answer. Restart it: systemctl --user restart notifyd",
                    name: NotifyError.hangs)
            case .notReachable where error.name == NotifyError.noReply: throw error
            case .notReachable where error.name == NotifyError.badConfiguration: throw error
            case .notReachable where error.name != nil:
                if let address = address ?? NotifyClient.sessionBusAddress {
                    try await Activation(address: address).perform(starting: starting)
                }
            // The command itself reports the error.
            default: break
            }
        }
        return client
    }
}

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
