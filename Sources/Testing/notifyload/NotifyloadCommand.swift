import ArgumentParser
import Glibc
import NotifyRehearsal

@main
struct NotifyloadCommand: AsyncParsableCommand {
    // They share the names of options, which a command would take from its subcommand.
    static let configuration = CommandConfiguration(
        commandName: "notifyload", abstract: "Load notifyd, or a link of devices, and print what it costs.",
        subcommands: [PointCommand.self, LinkloadCommand.self], defaultSubcommand: PointCommand.self)
}

/// Measures one point: a daemon on a private bus, with given surroundings, under load.
///
/// It prints one JSON object; `Benchmarks/report` makes tables from many.
struct PointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "point",
        abstract: "Load notifyd on a private bus, and print what an event costs.",
        discussion: """
            There are two loads. The first keeps up to 64 events in flight, each published, heard and claimed, and \
            gives events a second and processor time per event. The second publishes at a steady pace, 30 % of that \
            but at most 500 a second, and gives latencies. Then, with --waits, one connection publishes one event at a \
            time: without a notification server, with one that answers, with one that hangs, alone, and beside a flood.
            """)

    @Option(help: "The daemon.")
    var daemon = ".build/release/notifyd"

    @Option(help: "Seconds that each of the two loads lasts.")
    var seconds = 1.0

    @Option(help: "Seconds for each measurement of waiting times; 0 for none.")
    var waits = 0.0

    @OptionGroup var load: LoadOptions

    mutating func run() async throws {
        // A subscriber is a connection, and a connection a descriptor.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        print(try await measure(daemon: daemon, seconds: seconds, waits: waits, load).json)
    }
}

struct LoadOptions: ParsableArguments {
    @Option(help: "Subscribers to every event; the first one claims.")
    var subscribers = 1

    @Option(help: "Screens open elsewhere.")
    var screens = 0

    @Option(help: "Events open elsewhere, from before the daemon started.")
    var open = 0

    @Option(help: "Decided events in the journal, from before the daemon started.")
    var history = 0

    @Option(help: "Seconds after the two loads until the memory is measured again; 0 for not again.")
    var rest = 0.0

    @Option(help: "Bytes of body, and beyond 8 KiB of a field, of each event; at most 64,000.")
    var payload = 40
}
