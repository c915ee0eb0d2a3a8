import NotifyText
import Routing
import ScreenHolding
import Watching

/// What a browser sends: its first line is an address and a topic with a space between, the rest frames of native
/// messaging.
public func fuzzTab(_ bytes: [UInt8]) {
    let (line, rest) = (bytes.prefix { $0 != UInt8(ascii: "\n") }, bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst())
    let texts = line.split(separator: UInt8(ascii: " "), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
    if let address = texts.first {
        check(Tab(id: 1, address: address, topic: texts.last, isFocused: true, isVisible: true))
    }
    var reader = FrameReader()
    reader.append(rest)
    while let frame = try? reader.next() {
        guard case .message(let message) = frame else { continue }
        for tab in (try? TabMessage.parse(message)) ?? [] { check(tab) }
    }
}

private let rules = try! TabRules.read(
    file: "browser.toml",
    text: """
        [[site]]
        address = "https://example.org/posts/{id}"
        topic = "/post/{id}"

        [[site]]
        address = "https://example.org/{team}/?tab={tab}#/{place}"
        topic = "/team/{team}/{tab}/{place}"

        [[page]]
        origin = "https://example.org"
        topics = ["/article"]
        """)

private func check(_ tab: Tab) {
    if let page = PageAddress(tab.address) {
        let again = PageAddress("\(page.origin)/")
        precondition(again?.origin == page.origin, "a printed origin is read as the same")
        if let pattern = try? AddressPattern(tab.address), let captures = pattern.captures(of: page) {
            precondition(Set(captures.keys) == Set(pattern.captureNames), "all captures are captured")
        }
    }
    let decision = rules.decision(for: tab)
    var cache = PageCache()
    for _ in 1...2 {
        precondition(cache.decision(for: tab, by: rules) == decision, "what is remembered is what was found")
    }
    guard let topic = decision.topic else { return }
    precondition(tab.address.lowercased().hasPrefix("https://example.org"), "only this origin has rules")
    precondition(topic.description.fitsIntoMessage, "the bus takes every topic")
    precondition(!topic.description.unicodeScalars.contains(where: \.isActive), "a topic can be shown")
    switch decision.rule {
    case .site("https://example.org/posts/{id}"):
        precondition(topic.segments.count == 2 && topic.segments[0] == "post", "a capture is one segment")
    case .site: precondition(topic.segments.count == 4 && topic.segments[0] == "team", "captures are one segment each")
    case .page: precondition(topic.segments[0] == "article", "a page names only what it may")
    case nil: preconditionFailure("a topic has a rule")
    }
}
