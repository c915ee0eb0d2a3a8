import Foundation
package import GRDB
package import Routing

/// Takes a row apart without trusting it: a damaged file can hold any type in any column. What does not fit its checksum
/// was not written by us.
package struct RowReader {
    /// The row is not what was written.
    package struct Damaged: Error {}

    private let row: Row

    package init(_ row: Row) {
        self.row = row
    }

    package func event() throws -> StoredEvent {
        guard let bytes = Data.fromDatabaseValue(try value("fields")).map({ [UInt8]($0) }) else { throw Damaged() }
        let id = try id("id")
        let appearance = try optionalBytes("appearance")
        var event = StoredEvent(
            id: id, topic: try Topic(text("topic")), title: try text("title"), body: try text("body"),
            fields: try FieldCoding.decode(bytes), published: try number("published"), sender: try text("sender"),
            origin: Origin(
                source: try optionalText("source"), eventID: try optionalText("source_id"), via: try optionalText("via")
            ),
            urgency: try optionalNumber("urgency").flatMap { Urgency(rawValue: UInt8(truncatingIfNeeded: $0)) },
            collapse: try optionalText("collapse"), retained: try number("retained") != 0,
            appearance: try appearance.map(FieldCoding.decode) ?? [], route: try text("route"),
            key: try text("coalescing"),
            window: try number("window"), accepted: try number("accepted"),
            expires: Expiry(
                wall: try number("expires"), uptime: try number("expires_uptime"), boot: try text("boot")))
        guard event.checksum(fields: bytes, appearance: appearance) == (try number("checksum")) else { throw Damaged() }
        let code = try number("outcome")
        guard code != 0 else {
            guard try value("decision_checksum").isNull else { throw Damaged() }
            return event
        }
        event.decision = try decision(code)
        guard event.decision?.checksum(of: id) == (try number("decision_checksum")) else { throw Damaged() }
        return event
    }

    package func claim(of id: EventID) throws -> ClaimRecord {
        guard let form = ClaimForm(rawValue: try text("form")), let verdict = Verdict(rawValue: try text("verdict"))
        else {
            throw Damaged()
        }
        let latency = try number("latency")
        let claim = ClaimRecord(
            claimant: try text("claimant"), latency: latency < 0 ? nil : .microseconds(latency), form: form,
            verdict: verdict,
            program: try optionalText("program"))
        guard claim.checksum(of: id) == (try number("checksum")) else { throw Damaged() }
        return claim
    }

    /// What a removal was called.
    func removal() throws -> NamedPush {
        let push = NamedPush(
            origin: Origin(source: try text("source"), eventID: try text("source_id")), id: try id("id"))
        guard push.origin.checksum(of: push.id, accepted: try number("accepted")) == (try number("checksum")) else {
            throw Damaged()
        }
        return push
    }

    /// Which event is a value; whether there is such an event is seen when that is read.
    func valueEntry() throws -> Journal.ValueEntry {
        Journal.ValueEntry(topic: try text("topic"), id: try id("event"))
    }

    func quiet() throws -> StoredQuiet {
        guard let cause = Quiet.Cause(rawValue: try text("cause")) else { throw Damaged() }
        var quiet = StoredQuiet(topic: try TopicPrefix(text("topic")), cause: cause, end: nil)
        quiet.began = try optionalNumber("began")
        if let wall = try optionalNumber("ends") {
            let moment = Expiry(wall: wall, uptime: try number("ends_uptime"), boot: try text("boot"))
            quiet.end = StoredQuiet.End(moment: moment, left: try number("remaining"))
        }
        guard quiet.checksum == (try number("checksum")) else { throw Damaged() }
        return quiet
    }

    func snooze() throws -> StoredSnooze {
        let moment = Expiry(wall: try number("ends"), uptime: try number("ends_uptime"), boot: try text("boot"))
        let snooze = StoredSnooze(
            event: try id("event"), end: StoredQuiet.End(moment: moment, left: try number("remaining")))
        guard snooze.checksum == (try number("checksum")) else { throw Damaged() }
        return snooze
    }

    func awaited() throws -> StoredAwaited {
        guard let kind = NamedClaim.Kind(rawValue: try text("kind")) else { throw Damaged() }
        let identity = try optionalBytes("identity")
        let origin = Origin(source: try text("source"), eventID: try text("source_id"))
        let moment = Expiry(wall: try number("ends"), uptime: try number("ends_uptime"), boot: try text("boot"))
        let awaited = StoredAwaited(
            NamedClaim(
                name: .origin(origin), origin: origin, kind: kind, claimant: try text("claimant"),
                place: try place(via: "via"), identity: try identity.map(FieldCoding.decode) ?? []),
            end: StoredQuiet.End(moment: moment, left: try number("remaining")))
        guard awaited.checksum(identity: identity) == (try number("checksum")) else { throw Damaged() }
        return awaited
    }

    /// Where a claim was made.
    func place(via column: String) throws -> ClaimPlace {
        ClaimPlace(device: try optionalText("device"), via: try optionalText(column))
    }

    func digest() throws -> OwedDigest {
        let period = ActiveSchedule.Period(try TopicPrefix(text("topic")), began: try number("began"))
        let digest = OwedDigest(period, name: try id("name"), first: try id("event"))
        guard digest.checksum == (try number("checksum")) else { throw Damaged() }
        return digest
    }

    package func banner() throws -> StoredBanner {
        guard let number = UInt32(exactly: try number("number")) else { throw Damaged() }
        let banner = StoredBanner(
            number: number, server: try text("server"), first: try id("first"),
            isSummary: try self.number("summary") != 0)
        guard banner.checksum == (try self.number("checksum")) else { throw Damaged() }
        return banner
    }

    private func decision(_ code: Int64) throws -> StoredDecision {
        guard var decision = StoredDecision(code: Int(code), resolved: try number("resolved")) else { throw Damaged() }
        decision.opened = try optionalNumber("opened")
        decision.deadline = try optionalNumber("deadline")
        decision.claimant = try optionalText("claimant")
        decision.latency = try optionalNumber("latency")
        decision.form = try optionalText("form").flatMap { ClaimForm(rawValue: $0) }
        decision.banner = try optionalNumber("banner").map { UInt32(truncatingIfNeeded: $0) }
        decision.server = try optionalText("server")
        decision.shownWith = try optionalNumber("shown_with").map { EventID(UInt64(bitPattern: $0)) }
        decision.count = try optionalNumber("count").map { Int($0) }
        decision.isReplayed = try number("replayed") != 0
        decision.isOfEarlierBoot = try number("replayed") == 2
        decision.lateness = try optionalNumber("lateness")
        decision.cause = try optionalText("cause")
        decision.action = try optionalText("action")
        decision.program = try optionalText("program")
        decision.place = try place(via: "claim_via")
        return decision
    }

    // MARK: Columns

    private func value(_ column: String) throws -> DatabaseValue {
        guard let value: DatabaseValue = row[column] else { throw Damaged() }
        return value
    }

    func id(_ column: String) throws -> EventID {
        EventID(UInt64(bitPattern: try number(column)))
    }

    func number(_ column: String) throws -> Int64 {
        guard let number = try optionalNumber(column) else { throw Damaged() }
        return number
    }

    func text(_ column: String) throws -> String {
        guard let text = try optionalText(column) else { throw Damaged() }
        return text
    }

    func optionalNumber(_ column: String) throws -> Int64? {
        switch try value(column).storage {
        case .null: nil
        case .int64(let number): number
        case .double, .string, .blob: throw Damaged()
        }
    }

    private func optionalBytes(_ column: String) throws -> [UInt8]? {
        switch try value(column).storage {
        case .null: nil
        case .blob(let data): [UInt8](data)
        case .int64, .double, .string: throw Damaged()
        }
    }

    func optionalText(_ column: String) throws -> String? {
        switch try value(column).storage {
        case .null: nil
        case .string(let text): text
        case .int64, .double, .blob: throw Damaged()
        }
    }
}
