/// Why a private bus, a daemon or a stand-in could not be set up, or did not do what was expected of it.
package struct RehearsalError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
