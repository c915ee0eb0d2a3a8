/// What is known of an endpoint since the start.
struct Registration: Sendable {
    /// The name of the distributor that was asked to register it.
    var distributor = ""
    /// The unique name of the distributor that has registered it.
    var owner: String?
    /// What is wrong with the address that the distributor gives.
    var flaw: String?
    /// Why it is not registered, or not where it should be.
    var problem: Problem?

    struct Problem: Error, Equatable, Sendable {
        var text: String
        /// Whether nothing changes until somebody does something.
        var needsUser = false
    }
}
