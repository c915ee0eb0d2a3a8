import ArgumentParser
import Glibc
import NotifyRehearsal

/// Measures the link: three devices and a mosquitto on this machine.
///
/// It prints one JSON object; `Benchmarks/report` makes tables of it.
struct LinkloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Load a link of three devices, and print what it costs.",
        discussion: """
            Each part has three devices of its own: a bus, a notifyd and a notifyd-mqtt each. “latency” publishes and \
            claims 100 events a second at each distance, beside a plain publisher and subscriber; “sustained” keeps \
            256 events under way; “outage” publishes while the bridge of one device is away; “idle” does nothing; \
            “banners” claims everything in time.
            """)

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case latency, sustained, outage, idle, banners
    }

    @Option(help: "The notifyd.")
    var daemon = ".build/release/notifyd"
    @Option(help: "The notifyd-mqtt.")
    var bridge = ".build/release/notifyd-mqtt"
    @Flag(help: "Measure for a shorter time, and less.")
    var quick = false
    @Option(help: "Milliseconds that are added each way.")
    var delay: [Int] = [0, 20, 150]
    @Option(help: "What to measure, instead of everything.")
    var part: [Part] = Part.allCases

    mutating func run() async throws {
        let programs = LinkedDevice.Programs(daemon: daemon, bridge: bridge)
        let extent = quick ? Extent.quick : Extent.full
        var measurement = Measurement()
        for part in part {
            switch part {
            case .latency:
                for delay in delay { try await measurement.noteLatencies(programs, delay, extent) }
            case .sustained: try await measurement.noteSustained(programs, extent)
            case .outage: try await measurement.noteOutage(programs, extent)
            case .idle: try await measurement.noteIdle(programs, extent)
            case .banners: try await measurement.noteBanners(programs, extent)
            }
            say("\(part.rawValue) is measured: \(measurement.json)")
        }
        print(measurement.json)
    }

    private func say(_ text: String) {
        let line = "notifyload: \(text)\n"
        write(STDERR_FILENO, line, line.utf8.count)
    }
}
