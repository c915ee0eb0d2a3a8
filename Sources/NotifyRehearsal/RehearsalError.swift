/// Why a rehearsal could not be set up.
package struct RehearsalError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
