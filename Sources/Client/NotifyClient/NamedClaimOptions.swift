/// What was done with an event elsewhere, and where; see ``NotifyClient/claimNamed(source:eventID:options:)``.
public struct NamedClaimOptions: Hashable, Sendable {
    /// What was done with an event. More may come, so a `switch` over it needs a `default`.
    public struct Kind: Hashable, Sendable {
        /// The option that says so; `nil` for a plain claim.
        let option: String?

        /// It was claimed.
        public static let claimed = Kind(option: nil)
        /// The user closed its banner: a shown event becomes ``Outcome/Kind/dismissed``, an undecided one is claimed.
        public static let dismissed = Kind(option: "dismissed")
        /// It was taken back: it becomes ``Outcome/Kind/withdrawn``.
        public static let withdrawn = Kind(option: "withdrawn")
        /// It was read there: as by `markRead` of this event. A muted or expired one keeps its outcome.
        public static let read = Kind(option: "read")
    }

    /// What was done.
    public var kind: Kind
    /// Where, in people's words, such as `phone`. At most 64 bytes.
    public var device: String?
    /// The line by which a bridge brought the claim, such as `mqtt`. At most 64 bytes.
    public var via: String?
    /// Until when an event that has not come is awaited, in microseconds since 1970-01-01 00:00 UTC. It is awaited for
    /// at least 24 hours and at most 28 days.
    public var expires: Int64?

    public init(_ kind: Kind = .claimed, device: String? = nil, via: String? = nil, expires: Int64? = nil) {
        self.kind = kind
        self.device = device
        self.via = via
        self.expires = expires
    }

    /// The dictionary for the call.
    var values: [String: Value] {
        var values: [String: Value] = [:]
        if let option = kind.option { values[option] = .boolean(true) }
        values["device"] = device.map(Value.string)
        values["via"] = via.map(Value.string)
        values["expires"] = expires.map(Value.int64)
        return values
    }
}
