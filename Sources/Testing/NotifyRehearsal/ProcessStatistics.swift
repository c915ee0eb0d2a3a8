package import Glibc
import NotifyClient
import UserFiles

/// What a process has used so far: proc(5).
package struct ProcessStatistics: Sendable {
    private let identifier: pid_t

    package init(identifier: pid_t) {
        self.identifier = identifier
    }

    package var time: Duration { SystemClock.processorTime(of: identifier) ?? .zero }

    /// Its resident memory in MiB.
    package var memory: Double { mebibytes("VmRSS") }

    /// The most resident memory that it ever had, in MiB.
    package var peakMemory: Double { mebibytes("VmHWM") }

    /// How often its threads have waited for something: each wake-up follows a wait.
    package var waits: Int {
        let threads = (Folder.names(in: "/proc/\(identifier)/task") ?? []).filter { !$0.hasPrefix(".") }
        return threads.reduce(0) { sum, thread in
            sum + (number("voluntary_ctxt_switches", in: "/proc/\(identifier)/task/\(thread)/status") ?? 0)
        }
    }

    private func mebibytes(_ name: String) -> Double {
        Double(number(name, in: "/proc/\(identifier)/status") ?? 0) / 1024
    }

    /// A line of proc_pid_status(5), such as `RssAnon`, in KiB.
    package func kibibytes(_ name: String) throws(RehearsalError) -> Int {
        guard let count = number(name, in: "/proc/\(identifier)/status") else {
            throw RehearsalError("Process \(identifier) has no \(name).")
        }
        return count
    }

    /// Waits until it is idle for 100 ms.
    package func settle(within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        var before = Duration.zero
        while time - before > .milliseconds(1), ContinuousClock.now < deadline {
            before = time
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}

/// The number after a name in a file with lines such as `VmRSS:  1024 kB`.
private func number(_ name: String, in path: String) -> Int? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, CInt(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard text.hasPrefix(name + ":") else { continue }
        return Int(text.dropFirst(name.count + 1).drop { !$0.isNumber }.prefix { $0.isNumber })
    }
    return nil
}

/// Figures that a program which measures prints, for `Benchmarks/report` to read.
package struct Measurement: Sendable {
    /// Names as they are printed, in order.
    package private(set) var figures: [(name: String, value: Double)] = []

    package init() {}

    package var json: String {
        "{" + figures.map { "\"\($0.name)\": \(($0.value * 1000).rounded() / 1000)" }.joined(separator: ", ") + "}"
    }

    package subscript(name: String) -> Double? { figures.first { $0.name == name }?.value }

    package mutating func note(_ name: String, _ value: Double) { figures.append((name, value)) }

    /// Median and 99th percentile, in microseconds.
    package mutating func note(_ name: String, _ nanoseconds: [UInt64]) {
        guard !nanoseconds.isEmpty else { return }
        let sorted = nanoseconds.sorted()
        for percent in [50, 99] {
            note("\(name)_p\(percent)", Double(sorted[(sorted.count * percent + 99) / 100 - 1]) / 1000)
        }
    }
}
