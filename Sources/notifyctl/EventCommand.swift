import Glibc
import NotifyClient
import NotifyRehearsal

/// The shell command that `listen` runs for an event, which it finds in its environment.
struct EventCommand {
    private let command: String

    init(_ command: String) { self.command = command }

    /// Returns whether the command ended with 0.
    func run(for event: Event, _ verdict: Verdict?) async throws -> Bool {
        let environment = ChildProcess.currentEnvironment.merging(event.environment(verdict)) { $1 }
        let shell = try ChildProcess("/bin/sh", ["-c", command], environment: environment, inOwnGroup: true)
        // It is waited for even when we are asked to end: it is asked to end as well.
        let end = await withTaskCancellationHandler {
            await Task { await shell.waitForExit(within: .seconds(366 * 86400)) }.value
        } onCancel: {
            shell.signal(SIGTERM)
        }
        if case .code(let code)? = end, code != 0 {
            Terminal.complain("The command ended with \(code) for event \(event.id).")
        }
        return end == .code(0)
    }
}

extension Event {
    func environment(_ verdict: Verdict?) -> [String: String] {
        var result = [
            "NOTIFYD_ID": "\(id)", "NOTIFYD_TOPIC": topic, "NOTIFYD_TITLE": title, "NOTIFYD_BODY": body,
            "NOTIFYD_JSON": json(verdict: verdict).text(pretty: false),
        ]
        result["NOTIFYD_PUBLISHED"] = published.map { String($0) }
        result["NOTIFYD_WINDOW"] = window.map { JSON.milliseconds($0).text(pretty: false) }
        result["NOTIFYD_SENDER"] = sender
        result["NOTIFYD_SOURCE"] = source
        result["NOTIFYD_EVENT_ID"] = eventID
        result["NOTIFYD_VERDICT"] = verdict?.rawValue
        for (key, value) in fields where key.utf8.allSatisfy(\.isPartOfName) {
            result["NOTIFYD_FIELD_" + key] = Text(value).text
        }
        return result
    }
}

extension UInt8 {
    fileprivate var isPartOfName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
