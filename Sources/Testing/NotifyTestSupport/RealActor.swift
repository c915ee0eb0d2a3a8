internal import Glibc
internal import NotifyClient
internal import NotifyRehearsal

/// A program of a scenario on a real bus, with one connection. It cannot return after it has left.
struct RealActor: Sendable {
    enum Answer: Equatable, Sendable {
        case done
        case word(String)
        case count(UInt32)
        case screen(UInt64)
        case refused(String)

        /// The reply in the notation of a scenario.
        var text: String {
            switch self {
            case .done, .screen: Verb.done
            case .word(let word): word
            case .count(let number): "\(number)"
            case .refused("UnknownEvent"): Verb.unknown
            case .refused(let name): name
            }
        }
    }

    private let connection: Connection

    /// - Parameter isKilled: its connection goes through a separate process, so that it can be killed.
    init(on bus: PrivateBus, isKilled: Bool = false) async throws {
        let address = isKilled ? Self.addressOfItsOwnProcess(bus.address) : bus.address
        connection = try await Connection.open(address)
    }

    /// [unixexec](https://dbus.freedesktop.org/doc/dbus-specification.html#transports-exec): the connection goes
    /// through a process that is started for it.
    private static func addressOfItsOwnProcess(_ address: String) -> String {
        // In the value of a key, what is not plain is written as %xx.
        let path = address.replacing("=", with: "%3d").replacing(":", with: "%3a").replacing(",", with: "%2c")
        return "unixexec:path=systemd-stdio-bridge,argv1=--bus-path%3d\(path)"
    }

    /// - Throws: if there is no reply; an error reply is a reply.
    func ask(_ member: String, _ arguments: [Value]) async throws(NotifyError) -> Answer {
        do throws(NotifyError) {
            switch try await connection.call(.toRouter(member, arguments)).arguments.first {
            case nil: return .done
            case .string(let word)?: return .word(word)
            case .uint32(let count)?: return .count(count)
            case .uint64(let id)?: return .screen(id)
            default: throw NotifyError(.refused, "\(member) was answered with something strange.")
            }
        } catch  where error.code == .refused {
            return .refused(error.shortName ?? "\(error)")
        }
    }

    func setPaused(_ isPaused: Bool) async throws(NotifyError) {
        _ = try await connection.call(.toProperties("Set", ["Paused", .variant(.boolean(isPaused))]))
    }

    func leave() { connection.close() }

    /// Kills the process of its connection with SIGKILL.
    func kill() async throws {
        guard let process = try await connection.process(of: connection.uniqueName), process != getpid() else {
            throw StageError(description: "a program that is killed needs a process of its own")
        }
        Glibc.kill(pid_t(process), SIGKILL)
    }
}

extension [Attribute] {
    /// The options of a screen as D-Bus values.
    var screenOptions: Value {
        .variants(
            Dictionary(
                uniqueKeysWithValues: map { option in
                    guard case .duration(let length) = option.value else {
                        return (option.name, option.value.clientValue)
                    }
                    return (option.name, .uint32(UInt32(length.components.seconds)))
                }))
    }
}

extension Scenario.TopicLine {
    /// The arguments of `ClaimTopic`.
    var claim: [Value] { [.string(topic), .uint32((time ?? .zero).wholeMilliseconds)] }
}

extension Duration {
    var wholeMilliseconds: UInt32 { UInt32(self / .milliseconds(1)) }
}
