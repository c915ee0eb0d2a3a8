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
        .object(present: [
            "version": TabMessage.version, "notifyd": isConnected, "file": file, "rules": rules, "mistake": mistake,
            "passed_over": passedOver > 0 ? passedOver : nil,
            "tabs": tabs.map { JSON.object([("id", .integer($0.id))] + describe($0.decision)) },
        ])
    }

    private func describe(_ decision: TabDecision) -> [JSON.Member] {
        let rule: String? =
            switch decision.rule {
            case .site(let address): "[[site]]\naddress = \"\(address)\""
            case .page(let origin): "[[page]]\norigin = \"\(origin)\""
            case nil: nil
            }
        var members = JSON.present(["topic": decision.topic?.description, "rule": rule])
        if let topic = decision.topic, decision.state != nil { members += describe(held[topic]) }
        switch decision.request {
        case .forbidden(let topic, let origin):
            members += JSON.members(["asks": topic.description, "lines": Self.lines(allowing: topic, from: origin)])
        case .invalid: members += JSON.members(["mistaken": true])
        case .allowed, nil: break
        }
        return members
    }

    private func describe(_ screen: HeldScreen?) -> [JSON.Member] {
        switch screen {
        case .open(_, let state): JSON.members(["screen": "open", "state": state.rawValue])
        case .opening: JSON.members(["screen": "opening"])
        case .refused(let reason, _): JSON.members(["screen": "refused", "reason": reason])
        case .waiting: JSON.members(["screen": "waiting"])
        case nil: JSON.members(["screen": "beyond the limit"])
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
