import Glibc
import NotifyClient

/// The board of a run: where the mates are, and what is new. While it is there, nothing of this run needs a banner.
///
///     swift run run-board r1
@main
struct RunBoard {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: run-board RUN")
            exit(64)
        }
        let run = "/run/" + CommandLine.arguments[1]
        let client = try await NotifyClient()
        // What was published before is on nobody's board any more.
        let present = try await client.snapshot(run).cursor

        // From here on notifyd claims in our name what is published for the run. Should it restart, the library opens
        // the screen again; should this program die, banners appear again.
        try await client.withScreen(run) { _ in
            try await withThrowingTaskGroup { group in
                group.addTask { try await showMates(of: run, client) }
                group.addTask { try await showNews(of: run, after: present, client) }
                try await group.waitForAll()
            }
        }
    }

    /// Live values: first those there are, then every change. Only the last value of a mate is worth showing.
    private static func showMates(of run: String, _ client: NotifyClient) async throws {
        for try await change in try await client.watch(run + "/mate") {
            let mate = change.topic.split(separator: "/").last ?? ""
            let distance = change.value.fields["distance"]?.integer(as: Int.self)
            print(mate, change.kind == .removed ? "has left" : "is at \(distance ?? 0) m")
        }
    }

    /// Events: every one, once and in order, whatever is restarted meanwhile.
    private static func showNews(of run: String, after id: EventID, _ client: NotifyClient) async throws {
        for try await event in try await client.allEvents(at: run, after: id) where !event.isRetained {
            print(plain(event.topic), plain(event.title), plain(event.body))
        }
    }

    /// Anybody may have written it: what a terminal would obey is left out.
    private static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }
}
