import NotifyClient
import NotifyJSON

/// The environment variables for the command that handles an event.
struct EventEnvironment {
    /// The longest environment string on Linux, with its NUL; `MAX_ARG_STRLEN` in execve(2).
    private static let longest = 128 << 10

    /// The variables of every event; its limits keep them short.
    private let basic: [(name: String, value: String)]
    /// The others.
    private let long: [(name: String, value: String)]

    /// - Parameter text: what the banner of the event says.
    init(_ event: Event, _ verdict: Verdict?, _ text: BannerText?, json: String) {
        let values: [(name: String, value: String?)] = [
            ("ID", "\(event.id)"), ("TOPIC", event.topic), ("TITLE", event.title), ("BODY", event.body),
            ("PUBLISHED", event.published.map { String($0) }),
            ("WINDOW", event.window.map { JSON.milliseconds($0).text(pretty: false) }), ("SENDER", event.sender),
            ("SOURCE", event.source), ("EVENT_ID", event.eventID), ("VERDICT", verdict?.rawValue),
        ]
        basic = values.compactMap { name, value in value.map { ("NOTIFYD_" + name, $0) } }
        let banner = text.map { [("NOTIFYD_SUMMARY", $0.title), ("NOTIFYD_TEXT", $0.body)] } ?? []
        long = banner + [("NOTIFYD_JSON", json)] + Self.fields(of: event)
    }

    /// - Parameter isSmall: leaves out variables that can be long, because the whole environment was too large.
    func variables(isSmall: Bool) -> [String: String] {
        var result: [String: String] = [:]
        for (name, value) in basic { result[name] = value }
        var omitted: [String] = []
        for (name, value) in long {
            if isSmall || name.utf8.count + value.utf8.count + 2 > Self.longest {
                omitted.append(name)
            } else {
                result[name] = value
            }
        }
        // Limited, because a message can have thousands of fields.
        if !omitted.isEmpty { result["NOTIFYD_OMITTED"] = omitted.prefix(64).joined(separator: " ") }
        return result
    }

    /// Names are in capitals, with `_` for other characters, as for the commands of buttons. If two names become the
    /// same, the first counts.
    private static func fields(of event: Event) -> [(name: String, value: String)] {
        var names: Set<String> = []
        var result: [(name: String, value: String)] = []
        func add(_ key: String, _ value: String) {
            let name = "NOTIFYD_FIELD_" + key
            if names.insert(name).inserted { result.append((name, value)) }
        }
        let texts = event.fields.map { (key: $0.key, value: $0.value.text) }
        for (key, value) in texts {
            add(String(key.uppercased().map { $0.isPartOfName ? $0 : "_" }), value)
        }
        // The unchanged name, for scripts written for earlier versions.
        for (key, value) in texts where key.allSatisfy(\.isPartOfName) { add(key, value) }
        return result
    }
}

extension Character {
    fileprivate var isPartOfName: Bool { self == "_" || isASCII && (isLetter || isNumber) }
}
