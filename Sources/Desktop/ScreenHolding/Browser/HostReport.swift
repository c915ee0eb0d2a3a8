import Glibc
package import NotifyText
import Routing
package import TOMLTables
package import Watching

/// What the host tells the extension, for the people who look at its button.
package struct HostReport {
    /// Whether notifyd is on the bus.
    package var isConnected: Bool
    /// The file of the rules.
    package var file: String
    /// How many rules are in force.
    package var rules: Int
    /// What is wrong with the file, if something is.
    package var mistake: String?
    /// Messages that were not understood.
    package var passedOver: Int
    package var tabs: [(id: Int, decision: TabDecision)]
    package var held: [Topic: HeldScreen]

    package var json: JSON {
        var members: [JSON.Member] = [
            ("version", .integer(TabMessage.version)), ("notifyd", .boolean(isConnected)), ("file", .string(file)),
            ("rules", .integer(rules)),
        ]
        if let mistake { members.append(("mistake", .string(mistake))) }
        if passedOver > 0 { members.append(("passed_over", .integer(passedOver))) }
        members.append(("tabs", .array(tabs.map { .object([("id", .integer($0.id))] + describe($0.decision)) })))
        return .object(members)
    }

    private func describe(_ decision: TabDecision) -> [JSON.Member] {
        var members: [JSON.Member] = []
        if let topic = decision.topic { members.append(("topic", .string(topic.description))) }
        switch decision.rule {
        case .site(let address): members.append(("rule", .string("[[site]]\naddress = \"\(address)\"")))
        case .page(let origin): members.append(("rule", .string("[[page]]\norigin = \"\(origin)\"")))
        case nil: break
        }
        if let topic = decision.topic, decision.state != nil { members += describe(held[topic]) }
        switch decision.request {
        case .forbidden(let topic, let origin):
            members.append(("asks", .string(topic.description)))
            members.append(("lines", .string(Self.lines(allowing: topic, from: origin))))
        case .invalid: members.append(("mistaken", .boolean(true)))
        case .allowed, nil: break
        }
        return members
    }

    private func describe(_ screen: HeldScreen?) -> [JSON.Member] {
        switch screen {
        case .open(_, let state): [("screen", .string("open")), ("state", .string(state.rawValue))]
        case .opening: [("screen", .string("opening"))]
        case .refused(let reason, _): [("screen", .string("refused")), ("reason", .string(reason))]
        case .waiting: [("screen", .string("waiting"))]
        case nil: [("screen", .string("beyond the limit"))]
        }
    }

    /// The lines of browser.toml that allow a page's topic, and those beside it.
    private static func lines(allowing topic: Topic, from origin: WebOrigin) -> String {
        let segments = topic.segments
        let parent = segments.count > 1 ? "/" + segments.dropLast().joined(separator: "/") : topic.description
        // A topic has no backslash; a double quote it may have.
        let quoted = parent.utf8.contains(UInt8(ascii: "\"")) ? "'\(parent)'" : "\"\(parent)\""
        return "[[page]]\norigin = \"\(origin)\"\ntopics = [\(quoted)]"
    }
}

/// The rules, read again after browser.toml has changed. It is looked at when a tab changes, so that nothing wakes the
/// host.
package struct RulesFile {
    private struct Version: Equatable {
        let file: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    package let path: String
    /// With a mistake in the file, those from before it.
    package private(set) var rules = TabRules()
    package private(set) var mistake: ConfigurationError?
    private var version: Version?
    private var isRead = false

    package init(path: String) {
        self.path = path
    }

    /// Reads the file if it has changed.
    ///
    /// - Returns: whether it has.
    package mutating func refresh() -> Bool {
        var status = stat()
        var now: Version?
        if stat(path, &status) == 0 {
            now = Version(
                file: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
                nanoseconds: status.st_mtim.tv_nsec)
        }
        guard !isRead || now != version else { return false }
        isRead = true
        version = now
        do throws(ConfigurationError) {
            rules =
                try ConfigurationText.read(path).map { text throws(ConfigurationError) in
                    try TabRules.read(file: path, text: text)
                } ?? TabRules()
            mistake = nil
        } catch {
            mistake = error
        }
        return true
    }
}
