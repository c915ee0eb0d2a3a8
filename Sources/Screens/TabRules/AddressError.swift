/// Why a text is no address, or no pattern of addresses.
package struct AddressError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, and what would be right.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
