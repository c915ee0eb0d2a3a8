import Glibc

/// Why a rehearsal could not be set up.
package struct RehearsalError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// What the system called it, where it was the system that failed; else 0.
    package let number: CInt

    package init(_ description: String) {
        self.description = description
        number = 0
    }

    /// - Parameter what: what was not possible; the system's reason is added.
    package init(_ what: String, number: CInt) {
        description = "\(what): \(String(cString: strerror(number)))."
        self.number = number
    }
}
