import CMosquitto
import NotifyClient

/// Commands on their way to the thread of a connection.
final class CommandInbox: Sendable {
    private let commands = Locked<[ConnectionCommand]>([])
    /// Readable while there are commands.
    let descriptor: Int32

    init() {
        descriptor = notifyd_mqtt_event()
        precondition(descriptor >= 0, "no event descriptor can be created")
    }

    deinit { close(descriptor) }

    func put(_ command: ConnectionCommand) {
        let wasEmpty = commands.withLock { commands in
            commands.append(command)
            return commands.count == 1
        }
        if wasEmpty { eventfd_write(descriptor, 1) }
    }

    func takeAll() -> [ConnectionCommand] {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
        return commands.withLock { commands in
            defer { commands = [] }
            return commands
        }
    }
}
