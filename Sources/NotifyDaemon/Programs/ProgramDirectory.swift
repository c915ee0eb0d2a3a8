import Systemd

/// Knows what the programs behind unique names of the bus are called, and asks the bus about those who claim.
///
/// Asking never waits. The bus is asked once about a connection. What a process is called is read without a second look, unlike
/// what a policy needs to know: `CallerDirectory`.
final class ProgramDirectory {
    enum Finding: Equatable {
        /// The bus has been asked, and `onAnswer` follows.
        case awaited
        /// Nothing can be said.
        case none
        case named(String)
    }

    /// More connections than a bus usually has. What is forgotten is asked for again.
    static let capacity = 10_000
    private static let patience: Duration = .seconds(5)

    /// Called once after each `awaited`, later than the look-up that returned it; `nil` where nothing can be said.
    var onAnswer: (String, String?) -> Void = { _, _ in }
    private let bus: BusConnection
    private var known: [String: Finding] = [:]

    init(bus: BusConnection) {
        self.bus = bus
    }

    /// What is known of a name; asks the bus where nothing is.
    func find(_ name: String) -> Finding {
        if let finding = known[name] { return finding }
        if known.count >= Self.capacity { known = [:] }
        let finding = ask(about: name)
        known[name] = finding
        return finding
    }

    /// What is known of a name; nobody is asked.
    func program(of name: String) -> String? {
        guard case .named(let program)? = known[name] else { return nil }
        return program
    }

    /// A connection has left the bus. Unique names are never used again.
    func left(_ name: String) {
        known[name] = nil
    }

    private func ask(about name: String) -> Finding {
        do throws(SystemdError) {
            try bus.call(
                bus.question("GetConnectionUnixProcessID", about: name), timeout: Self.patience
            ) { [unowned self] answer in
                let process: UInt32? = answer.failure == nil ? try? answer.readNumber("u") : nil
                settle(name, process.flatMap { Int32(exactly: $0) }.flatMap(Self.program))
            }
            return .awaited
        } catch {
            return .none
        }
    }

    /// A connection that has left meanwhile is told of all the same: what it claimed is still to be named.
    private func settle(_ name: String, _ program: String?) {
        if known[name] != nil { known[name] = program.map(Finding.named) ?? Finding.none }
        onAnswer(name, program)
    }

    private static func program(process: Int32) -> String? {
        ProgramName.make(
            unit: ProcessSighting(process: process)?.userUnit, command: ProcessSighting.command(of: process))
    }
}
