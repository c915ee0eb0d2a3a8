import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// A service manager that reads late.
@Suite(.timeLimit(.minutes(2)))
struct ManagerTests {
    @Test func aManagerThatDoesNotReadStopsNothingAndMissesNothing() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "/manager"
        let manager = try listen(path)
        defer { close(manager) }
        let environment = ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"]
        try await withFaultRig(environment: environment) { rig in
            for number in 1...300 {
                kill(try #require(rig.daemon.identifier), SIGHUP)
                _ = try await rig.send("/note/\(number)")
            }
            #expect(try await rig.degradation() == "")
            var heard = read(manager)
            #expect(heard.first?.hasPrefix("READY=1") == true || heard.first == "WATCHDOG=1")
            try await rig.until("it hears what it has not read") {
                heard += read(manager)
                let reloads = heard.filter { $0.hasPrefix("READY=1") || $0.hasPrefix("RELOADING=1") }
                let isReady = reloads.count > 1 && reloads.last?.hasPrefix("READY=1") == true
                return isReady && heard.last == "WATCHDOG=1"
            }
            // It goes on after that.
            try await rig.until("the watchdog is pinged again") { read(manager).contains("WATCHDOG=1") }
            #expect(await rig.daemon.stop() == .code(0))
            #expect(read(manager).contains("STOPPING=1"))
        }
    }

    @Test func aManagerThatNeverReadsKeepsNothingFromEndingInOrder() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "/manager"
        let manager = try listen(path)
        defer { close(manager) }
        try await withFaultRig(environment: ["NOTIFY_SOCKET": path]) { rig in
            fill(path)
            #expect(await rig.daemon.stop() == .code(0))
        }
    }

    /// Sends to the socket until it takes no more.
    private func fill(_ path: String) {
        let sender = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(sender) }
        withAddress(of: path) { address, length in
            while sendto(sender, "X=1", 3, 0, address, length) >= 0 {}
        }
    }

    private func withAddress<Result>(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result
    {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }

    private func listen(_ path: String) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        try #require(withAddress(of: path) { bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    private func read(_ socket: CInt) -> [String] {
        var all: [String] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count >= 0 else { return all }
            all.append(String(decoding: bytes[..<count], as: UTF8.self))
        }
    }
}
