import NotifyText
package import Routing

/// A table `[[site]]` of browser.toml: what the pages of an address show.
package struct SiteRule: Sendable {
    package let address: AddressPattern
    package let topic: TopicPattern
    /// How well the tab has to be seen: `.focused` or `.visible`.
    package let state: Screen.State

    /// The topic that a page shows; `nil` if its address does not fit, or gives no topic.
    func topic(of page: PageAddress) -> Topic? {
        guard let captures = address.captures(of: page) else { return nil }
        return topic.filled(with: captures)
    }
}

extension TopicPattern {
    /// The topic with these segments in place of the captures; `nil` if one of them is no segment of a topic.
    package func filled(with captures: [String: String]) -> Topic? {
        var text = ""
        var count = 0
        for segment in description.utf8.split(separator: UInt8(ascii: "/")).map(String.init) {
            guard let segment else { return nil }
            count += 1
            guard segment.utf8.first == UInt8(ascii: "{") else {
                text += "/" + segment
                continue
            }
            guard let value = captures[String(segment.dropFirst().dropLast())], ![".", ".."].contains(value) else {
                return nil
            }
            text += "/" + value
        }
        // A slash in a value would be two segments, and an active character would deceive who reads the topic.
        guard let topic = try? Topic(text), topic.segments.count == count, topic.isPlain else { return nil }
        return topic
    }
}

extension Topic {
    /// Whether it can be shown and sent as it is.
    var isPlain: Bool { description.fitsIntoMessage && !description.unicodeScalars.contains(where: \.isActive) }
}
