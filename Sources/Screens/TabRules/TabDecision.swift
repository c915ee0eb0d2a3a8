package import Routing

/// What a tab is a screen of, and why.
package struct TabDecision: Equatable, Sendable {
    /// The rule by which a tab shows a topic.
    package enum Rule: Equatable, Sendable {
        /// A table `[[site]]` with this address.
        case site(address: String)
        /// A table `[[page]]` with this origin.
        case page(origin: WebOrigin)
    }

    /// What became of a topic that the page names by itself.
    package enum Request: Equatable, Sendable {
        case allowed
        /// No `[[page]]` of its origin has the topic.
        case forbidden(Topic, origin: WebOrigin)
        /// What it names is no topic.
        case invalid
    }

    /// What the tab shows; `nil` if no rule fits.
    package internal(set) var topic: Topic?
    package internal(set) var rule: Rule?
    /// As which screen it is held; `nil` while the tab is not seen well enough for its rule.
    package internal(set) var state: Screen.State?
    /// `nil` if the page names none.
    package internal(set) var request: Request?

    /// Nothing.
    package init() {}
}
