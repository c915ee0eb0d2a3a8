package import Routing

/// A table `[[page]]` of browser.toml: what the pages of an origin may say by themselves.
package struct PageRule: Sendable {
    package let origin: WebOrigin
    /// They may name topics at or below these.
    package let topics: [TopicPrefix]
    /// How well the tab has to be seen: `.focused` or `.visible`.
    package let state: Screen.State

    func allows(_ topic: Topic, from origin: WebOrigin) -> Bool {
        self.origin == origin && topics.contains { $0.covers(topic) }
    }
}
