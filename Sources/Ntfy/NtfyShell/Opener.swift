import Glibc
import Logging
import NotifyClient
import NtfyMessages

/// Opens addresses for the user: by the portal of the desktop, or where there is none by xdg-open(1), which the service manager
/// starts. The bridge itself starts no program.
struct Opener: Sendable {
    let connection: Connection
    let logger: Logger

    func open(_ address: String) async {
        guard OpenableAddress.isOpenable(address) else {
            return logger.notice("An address of a message is of a kind that is not opened")
        }
        let portal = Message.call(
            "OpenURI", of: "org.freedesktop.portal.OpenURI", at: "/org/freedesktop/portal/desktop",
            on: "org.freedesktop.portal.Desktop", [.string(""), .string(address), .variants([:])])
        do throws(NotifyError) {
            _ = try await connection.call(portal)
        } catch {
            await start(address)
        }
    }

    /// org.freedesktop.systemd1(5), `StartTransientUnit`.
    private func start(_ address: String) async {
        let command = BusValue.structure([
            .string("/usr/bin/xdg-open"), .strings(["xdg-open", address]), .boolean(false),
        ])
        let properties: [BusValue] = [
            .structure([.string("Description"), .variant(.string("An address of a message of ntfy"))]),
            .structure([.string("CollectMode"), .variant(.string("inactive-or-failed"))]),
            .structure([.string("ExecStart"), .variant(.array([command], of: command.type))]),
        ]
        let pair = ValueType.structure([.string, .variant])
        let unit = "notifyd-ntfy-open-\(UInt32.random(in: 0 ... .max)).service"
        let call = Message.call(
            "StartTransientUnit", of: "org.freedesktop.systemd1.Manager", at: "/org/freedesktop/systemd1",
            on: "org.freedesktop.systemd1",
            [
                .string(unit), .string("fail"), .array(properties, of: pair),
                .array([], of: .structure([.string, .array(of: pair)])),
            ])
        do throws(NotifyError) {
            _ = try await connection.call(call)
        } catch {
            logger.warning(
                "An address cannot be opened: there is neither a desktop portal nor a service manager",
                metadata: ["error": "\(error.name ?? "\(error.code)")"])
        }
    }
}
