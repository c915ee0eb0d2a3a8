/// Which distributor is to have an endpoint. A plain value: who is there goes in.
///
/// An endpoint belongs to the distributor that has given its address, because its sender knows only that address.
/// Another one gets it only if the configuration names it; of a new endpoint, the only one there is.
struct DistributorChoice: Equatable, Sendable {
    /// The one of the configuration.
    var configured: String?
    /// Those that are there or can be started, in order.
    var available: [String]
    /// Those that have endpoints.
    var known: Set<String>

    enum Answer: Equatable, Sendable {
        /// It is registered there, and in spite of a problem it is of use.
        case register(String, Registration.Problem? = nil)
        /// It waits.
        case wait(Registration.Problem)
    }

    /// - Parameters:
    ///   - endpoint: its name.
    ///   - owner: the distributor that has given the endpoint its address; empty if none has.
    func answer(for endpoint: String, of owner: String) -> Answer {
        if let configured, configured != owner {
            if available.contains(configured) { return .register(configured) }
            let text = "the distributor \(configured) of unifiedpush.toml is not there; is it installed?"
            guard available.contains(owner) else { return .wait(Registration.Problem(text: text)) }
            return .register(owner, Registration.Problem(text: "\(text) Until then \(owner) delivers"))
        }
        guard owner.isEmpty else {
            if available.contains(owner) { return .register(owner) }
            return .wait(
                Registration.Problem(
                    text: "its distributor \(owner) is away, and the endpoint waits for it; "
                        + "if it does not come back: notifyctl push-endpoint move \(endpoint)"))
        }
        if let name = available.first(where: known.contains) { return .register(name) }
        guard let name = available.first else {
            return .wait(
                Registration.Problem(
                    text: "there is no distributor of UnifiedPush on the bus; install one, such as KUnifiedPush"))
        }
        guard available.count == 1 else {
            let names = available.joined(separator: ", ")
            return .wait(
                Registration.Problem(
                    text: "there are several distributors: \(names); "
                        + "choose one in unifiedpush.toml: distributor = \"\(name)\"", needsUser: true))
        }
        return .register(name)
    }
}
