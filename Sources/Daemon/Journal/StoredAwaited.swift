public import Routing

/// A stored claim of an event that has not come yet.
public struct StoredAwaited: Sendable, Equatable {
    /// The global name of the event: source and event-id.
    public var origin: Origin
    /// What was done with the event elsewhere.
    public var kind: NamedClaim.Kind
    /// The unique bus name of who passed it on.
    public var claimant: String
    /// Where it was done.
    public var place: ClaimPlace
    /// What is known about the claimant, and its program.
    public var identity: [Field]
    /// Until when the event is awaited.
    public var end: StoredQuiet.End

    public init(_ claim: NamedClaim, end: StoredQuiet.End) {
        origin = claim.origin
        kind = claim.kind
        claimant = claim.claimant
        place = claim.place
        identity = claim.identity + (claim.program.map { [Field(name: Self.program, value: .string($0))] } ?? [])
        self.end = end
    }

    /// The name of the field with the program.
    private static var program: String { "program" }

    /// The program of the claimant; `nil` if it was not known.
    public var program: String? {
        guard case .string(let name)? = identity.first(where: { $0.name == Self.program })?.value else { return nil }
        return name
    }
}
