import NotifyText

/// The tab in front of a window, as the browser tells it.
package struct Tab: Equatable, Sendable {
    /// The browser's number of the tab.
    package var id: Int
    package var address: String
    /// The content of `<meta name="notifyd-topic">`, if the page has one.
    package var topic: String?
    /// Whether its window has the focus.
    package var isFocused: Bool
    /// Whether its window can be seen.
    package var isVisible: Bool

    package init(id: Int, address: String, topic: String? = nil, isFocused: Bool, isVisible: Bool) {
        self.id = id
        self.address = address
        self.topic = topic
        self.isFocused = isFocused
        self.isVisible = isVisible
    }

    /// Texts are equal if their bytes are.
    package static func == (left: Tab, right: Tab) -> Bool {
        left.id == right.id && left.address.hasBytes(of: right.address) && left.topic?.bytes == right.topic?.bytes
            && left.isFocused == right.isFocused && left.isVisible == right.isVisible
    }
}
