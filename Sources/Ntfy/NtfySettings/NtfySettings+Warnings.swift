import NtfyMessages
import Routing

extension NtfySettings {
    /// What is allowed, and most likely not what is meant; a sentence for each.
    public var warnings: [String] {
        let inbound = servers.flatMap(\.inbound)
        return servers.flatMap(\.outbound).filter { map in
            map.topics.allSatisfy { topic in inbound.contains { $0.fills(topic.description) } }
        }.map { map in
            let topics = map.topics.map(\.description).joined(separator: " and ")
            return
                "what 'subscribe' brings never goes out, and publish = \"\(map.name)\" has 'topics' that it fills only; "
                + "unless something else publishes at \(topics), nothing is sent: name topics of other programs, or let the "
                + "phone subscribe itself"
        }
    }
}

extension SubscribeMap {
    /// Whether a topic is one of those that messages are taken in at.
    fileprivate func fills(_ prefix: String) -> Bool {
        let head = topic.description.split(separator: "/").prefix { !$0.contains("{") }
        return !head.isEmpty && prefix.split(separator: "/").starts(with: head)
    }
}
