import ChildProcesses
import Glibc
import Logging
import NtfyMessages

/// Opens addresses and copies texts for the user. Addresses are opened by the portal of the desktop, or where there is
/// none with xdg-open(1). The service manager starts it, outside of the sandbox; without one there is no sandbox, and
/// the bridge starts it itself.
struct Opener: Sendable {
    /// The address of the bus.
    let bus: String
    let logger: Logger
    /// xdg-open(1).
    var program = "/usr/bin/xdg-open"

    /// For Wayland, and for X.
    var copyCommands = [["/usr/bin/wl-copy"], ["/usr/bin/xclip", "-selection", "clipboard"]]

    /// A program that has not failed for so long has opened the address, and may be the browser itself.
    private static let patience: Duration = .seconds(10)
    /// How long the user may choose a program.
    private static let portalPatience: Duration = .seconds(300)

    /// - Returns: whether it is opened, as far as that can be known. Why not is in the log.
    func open(_ address: String) async -> Bool {
        guard let address = OpenableAddress.openable(address) else {
            logger.notice("An address of a message is of a kind that is not opened")
            return false
        }
        switch await PortalOpening(bus: bus).open(address, patience: Self.portalPatience) {
        case .opened: return true
        case .cancelled:
            logger.info("An address was not opened: the user has cancelled it")
            return false
        case .unknown:
            // To open it once more could open it twice.
            logger.warning("An address may not be opened: the desktop portal does not say what became of it")
            return false
        case .failed:
            logger.notice("The desktop portal could not open an address; xdg-open is tried")
        case .noPortal: break
        }
        guard access(program, X_OK) == 0 else {
            logger.warning("An address cannot be opened: there is neither a desktop portal nor \(program)")
            return false
        }
        switch await OpeningUnit(bus: bus, program: program, arguments: [address]).run(patience: Self.patience) {
        case .opened: return true
        case .failed:
            // Its log has what it has said.
            logger.warning("An address cannot be opened: xdg-open has failed; the journal of the user says why")
            return false
        case .notStarted: return await start(address)
        }
    }

    /// Puts a text on the clipboard. It is the input of a program and not an argument, which everybody on the machine
    /// could read.
    ///
    /// - Returns: whether it is there. Why not is in the log.
    func copy(_ text: String) async -> Bool {
        for command in copyCommands {
            let unit = OpeningUnit(bus: bus, program: command[0], arguments: Array(command.dropFirst()), input: text)
            if case .opened = await unit.run(patience: Self.patience) { return true }
        }
        logger.warning(
            "A text cannot be copied: that needs wl-clipboard or xclip, and the service manager, which knows the display"
        )
        return false
    }

    private func start(_ address: String) async -> Bool {
        let child: ChildProcess
        do throws(ProcessError) {
            child = try ChildProcess(
                program, [address], environment: ChildProcess.currentEnvironment, inOwnGroup: true)
        } catch {
            logger.warning("An address cannot be opened", metadata: ["error": "\(error)"])
            return false
        }
        guard let exit = await child.waitForExit(within: Self.patience) else { return true }
        if exit == .code(0) { return true }
        logger.warning("An address cannot be opened", metadata: ["error": "xdg-open ended with \(exit)"])
        return false
    }
}
