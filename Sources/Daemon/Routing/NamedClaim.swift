public import NotifyText

/// The global name of an event, by which another device knows it.
public enum EventName: Hashable, Sendable {
    /// Its source and event-id.
    case origin(Origin)
    /// An event that this device published without one of them: its id.
    case own(EventID)

    /// The name that an event has.
    init(_ id: EventID, _ origin: Origin) { self = origin.isGlobalID ? .origin(origin) : .own(id) }
}

/// Where a claim was made that somebody passes on; empty for a claim that was made here.
public struct ClaimPlace: Hashable, Sendable {
    private final class Parts: Sendable {
        let device: String?
        let via: String?

        init(_ device: String?, _ via: String?) {
            self.device = device
            self.via = via
        }
    }

    /// `nil` for most claims, so that they take less memory.
    private let parts: Parts?

    /// The device, for people.
    public var device: String? { parts?.device }
    /// The line by which a bridge brought it.
    public var via: String? { parts?.via }

    public init(device: String? = nil, via: String? = nil) {
        parts = device == nil && via == nil ? nil : Parts(device, via)
    }

    public static func == (left: ClaimPlace, right: ClaimPlace) -> Bool {
        left.device?.bytes == right.device?.bytes && left.via?.bytes == right.via?.bytes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(device?.bytes)
        hasher.combine(via?.bytes)
    }
}

/// A claim of an event by its global name, which may not have come yet: `ClaimNamed`.
public struct NamedClaim: Equatable, Sendable {
    /// What was done with the event elsewhere.
    public enum Kind: String, CaseIterable, Sendable {
        /// It was claimed.
        case claimed
        /// The user closed its banner.
        case dismissed
        /// It was taken back.
        case withdrawn
        /// It was read, and its outcome did not change there.
        case read
    }

    /// Identifies the event.
    public let name: EventName
    /// The same as it was given: source and event-id.
    public let origin: Origin
    /// What was done.
    public var kind: Kind
    /// The unique bus name of who passes it on.
    public var claimant: String
    /// Where it was done.
    public var place: ClaimPlace
    /// What the shell knows of the claimant, for its policy.
    public var identity: [Field]
    /// The program of the claimant, for whose limit it counts; `nil` if it is not known.
    public var program: String?
    /// What is left of the time until which an event that has not come is awaited, as far as it is known.
    public var left: Duration?

    public init(
        name: EventName, origin: Origin, kind: Kind = .claimed, claimant: String, place: ClaimPlace = ClaimPlace(),
        identity: [Field] = [], program: String? = nil, left: Duration? = nil
    ) {
        self.name = name
        self.origin = origin
        self.kind = kind
        self.claimant = claimant
        self.place = place
        self.identity = identity
        self.program = program
        self.left = left
    }
}

/// The `options` of `ClaimNamed`. Every key is optional; an unknown key is refused by name.
public struct NamedClaimOptions: Sendable, Equatable {
    /// What was done with the event.
    public var kind = NamedClaim.Kind.claimed
    /// Where it was done.
    public var place = ClaimPlace()
    /// Until when an event that has not come is awaited, microseconds since the epoch.
    public var expires: Int64?

    public init() {}

    /// Reads the dictionary of a call.
    public init(_ entries: [Field]) throws(Refusal) {
        var device: String?
        var via: String?
        var kinds: [NamedClaim.Kind] = []
        for entry in entries {
            switch entry.name {
            case "device": device = try entry.text(upTo: 64)
            case "via": via = try entry.text(upTo: 64)
            case "dismissed": if try entry.boolean() { kinds.append(.dismissed) }
            case "withdrawn": if try entry.boolean() { kinds.append(.withdrawn) }
            case "read": if try entry.boolean() { kinds.append(.read) }
            case "expires": expires = try entry.integer(in: 0...Int64.max, "microseconds since the epoch")
            default:
                throw .invalidEvent(
                    "there is no option '\(entry.name.quotable)'; the options are "
                        + "device, dismissed, expires, read, via, withdrawn")
            }
        }
        guard kinds.count <= 1 else {
            throw .invalidEvent(
                "the options \(kinds.map { "'\($0.rawValue)'" }.joined(separator: " and ")) contradict each other; "
                    + "at most one of dismissed, withdrawn and read is true")
        }
        kind = kinds.first ?? .claimed
        place = ClaimPlace(device: device, via: via)
    }
}

extension Origin {
    /// Both parts of a global name.
    ///
    /// - Throws: `.invalidEvent` for a part that no event can have.
    public init(named source: String, _ eventID: String) throws(Refusal) {
        for (name, text) in [("source", source), ("event-id", eventID)] where !(1...256).contains(text.utf8.count) {
            throw .invalidEvent("the \(name) has \(text.utf8.count) bytes, 1 to 256 are allowed")
        }
        self.init(source: source, eventID: eventID)
    }
}
