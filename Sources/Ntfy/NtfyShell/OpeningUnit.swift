import Glibc
import NotifyClient

/// Runs a program as a service of the user's service manager, and says how it has ended. It has a connection to the bus
/// of its own, for the one signal that it waits for.
struct OpeningUnit: Sendable {
    /// What has become of the program.
    enum Result {
        /// It has ended without an error, or still runs: it may be the browser itself.
        case opened
        /// It has ended with an error.
        case failed
        /// There is no service manager, or it does not start the program.
        case notStarted
    }

    /// Of the bus.
    let bus: String
    let program: String
    let arguments: [String]
    /// Its standard input.
    var input: String?

    private static let manager = "org.freedesktop.systemd1"
    private static let path = "/org/freedesktop/systemd1"

    func run(patience: Duration) async -> Result {
        let (ends, continuation) = AsyncStream.makeStream(of: (job: String, result: String).self)
        let connection: Connection
        do throws(NotifyError) {
            connection = try await Connection.open(
                bus,
                onSignal: { signal in
                    guard signal.member == "JobRemoved", signal.interface == Self.manager + ".Manager",
                        signal.arguments.count == 4, case .objectPath(let job) = signal.arguments[1],
                        let result = signal.arguments[3].string
                    else { return }
                    continuation.yield((job, result))
                }, onClose: { continuation.finish() })
        } catch {
            return .notStarted
        }
        defer {
            connection.close()
            continuation.finish()
        }
        // The manager sends the signal to the caller, who need not subscribe.
        guard let reply = try? await connection.call(starting),
            case .objectPath(let job)? = reply.arguments.first
        else { return .notStarted }
        return await withTaskGroup(of: Result.self) { group in
            group.addTask {
                for await end in ends where end.job == job { return end.result == "done" ? .opened : .failed }
                return .opened
            }
            group.addTask {
                await connection.loop.sleep(for: patience)
                return .opened
            }
            defer { group.cancelAll() }
            return await group.next() ?? .opened
        }
    }

    /// org.freedesktop.systemd1(5), `StartTransientUnit`.
    private var starting: Message {
        let name = program.split(separator: "/").last.map(String.init) ?? program
        let command = BusValue.structure([.string(program), .strings([name] + arguments), .boolean(false)])
        var properties: [BusValue] = [
            .structure([.string("Description"), .variant(.string("A button of a message of ntfy"))]),
            // The job of such a unit ends when the program does, with its result.
            .structure([.string("Type"), .variant(.string("oneshot"))]),
            // What the program has started, such as a browser, goes on.
            .structure([.string("KillMode"), .variant(.string("process"))]),
            .structure([.string("CollectMode"), .variant(.string("inactive-or-failed"))]),
            .structure([.string("ExecStart"), .variant(.array([command], of: command.type))]),
        ]
        if let input {
            properties += [
                .structure([.string("StandardInput"), .variant(.string("data"))]),
                .structure([.string("StandardInputData"), .variant(.bytes(Array(input.utf8)))]),
            ]
        }
        let pair = ValueType.structure([.string, .variant])
        let unit = "notifyd-ntfy-open-\(UInt32.random(in: 0 ... .max)).service"
        return Message.call(
            "StartTransientUnit", of: Self.manager + ".Manager", at: Self.path, on: Self.manager,
            [
                .string(unit), .string("fail"), .array(properties, of: pair),
                .array([], of: .structure([.string, .array(of: pair)])),
            ])
    }
}
