import Glibc
package import NotifyClient

/// A private message bus: a `dbus-daemon` with its configuration in a temporary folder. It starts no service unless it
/// is given a folder with service files.
package final class PrivateBus: StartedProgram {
    /// The address of the bus. A restart does not change it.
    package let address: String
    private let folder: TemporaryFolder
    package let process = Locked<ChildProcess?>(nil)

    /// Starts a bus. It listens when this returns.
    ///
    /// - Parameter serviceFolder: a folder with service files, to test activation.
    package init(serviceFolder: String? = nil) async throws {
        folder = try TemporaryFolder()
        address = "unix:path=\(folder.path)/bus"
        try folder.write(
            configuration(address: address, serviceFolder: serviceFolder), to: "bus.conf")
        try await start()
    }

    /// Ends it with SIGKILL, by which all its connections are lost, and removes its files.
    package func remove() async {
        await kill()
        folder.remove()
    }

    /// Starts the bus again after `kill`, at the same address.
    package func start() async throws {
        unlink(folder.path + "/bus")
        let child = try ChildProcess(
            "dbus-daemon",
            ["--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile", "--print-address=3"],
            environment: ["PATH": ChildProcess.path],
            capturing: [2, 3], removing: folder.path)
        // The address is printed once the socket is there.
        guard await child.lines(of: 3).next(within: .seconds(10)) != nil else {
            child.signal(SIGKILL)
            let words = child.lines(of: 2).all.joined(separator: " ")
            throw RehearsalError("dbus-daemon did not begin to listen within 10 s. It said: \(words)")
        }
        process.withLock { $0 = child }
    }
}

/// Runs `body` with a new bus and stops it afterwards.
package func withPrivateBus<Result>(
    serviceFolder: String? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (PrivateBus) async throws -> Result
) async throws -> Result {
    let bus = try await PrivateBus(serviceFolder: serviceFolder)
    return try await finally {
        await bus.remove()
    } after: {
        try await body(bus)
    }
}

/// Both allow lines are needed: without the second no message may be received. The limits are those of a usual session
/// bus; the built-in ones are much lower.
private func configuration(address: String, serviceFolder: String?) -> String {
    let services = serviceFolder.map { "  <servicedir>\($0)</servicedir>\n" } ?? ""
    return """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>\(address)</listen>
        \(services)  <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
          <limit name="max_incoming_bytes">1000000000</limit>
          <limit name="max_outgoing_bytes">1000000000</limit>
          <limit name="max_message_size">1000000000</limit>
          <limit name="max_completed_connections">100000</limit>
          <limit name="max_connections_per_user">100000</limit>
          <limit name="max_match_rules_per_connection">50000</limit>
          <limit name="max_replies_per_connection">50000</limit>
          <limit name="max_names_per_connection">50000</limit>
          <limit name="service_start_timeout">120000</limit>
        </busconfig>

        """
}
