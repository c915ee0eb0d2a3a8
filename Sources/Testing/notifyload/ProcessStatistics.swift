import Glibc
import NotifyClient

struct ProcessStatistics: Sendable {
    let identifier: pid_t

    var time: Duration { SystemClock.processorTime(of: identifier) ?? .zero }

    /// Its resident memory in MiB: proc_pid_statm(5).
    var memory: Double {
        guard let file = fopen("/proc/\(identifier)/statm", "re") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, CInt(line.count), file) != nil else { return 0 }
        let numbers = line.prefix { $0 != 0 }.split(separator: CChar(32))
        let pages = Int(String(decoding: numbers[1].map(UInt8.init(bitPattern:)), as: UTF8.self)) ?? 0
        return Double(pages * sysconf(CInt(_SC_PAGESIZE))) / 1_048_576
    }

    /// Waits until it is idle for 100 ms.
    func settle(within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        var before = Duration.zero
        while time - before > .milliseconds(1), ContinuousClock.now < deadline {
            before = time
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
