import Glibc

/// Why a program could not be started, or did not do what it was started for.
package struct ProcessError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// The error number of the system call that failed; 0 if none did.
    package let number: CInt

    /// - Parameter number: if it is not 0, the description has its text from strerror(3).
    package init(_ text: String, number: CInt = 0) {
        description = number == 0 ? text : "\(text): \(String(cString: strerror(number)))."
        self.number = number
    }
}
