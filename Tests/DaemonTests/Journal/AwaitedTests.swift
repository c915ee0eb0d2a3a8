import Routing
import Testing

@testable import Journal

/// The claims of events that have not come yet, on disk.
struct AwaitedTests {
    private func awaited(
        _ id: String, _ kind: NamedClaim.Kind = .claimed, device: String? = "phone", until end: Int64 = 5
    ) -> StoredAwaited {
        let origin = Origin(source: "chat", eventID: id)
        return StoredAwaited(
            NamedClaim(
                name: .origin(origin), origin: origin, kind: kind, claimant: ":1.7",
                place: ClaimPlace(device: device, via: "mqtt"), identity: [Field(name: "user", value: .uint32(1000))]),
            end: StoredQuiet.End(moment: Expiry(wall: end, uptime: 6, boot: "boot"), left: 7))
    }

    @Test func theyAreFoundAgain() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .awaited(awaited("1", .read)), .awaited(awaited("2", device: nil)), .awaited(awaited("3")),
            ])
            try journal.commit([
                .awaited(awaited("1", .withdrawn, until: 6)), .awaitedGone(Origin(source: "chat", eventID: "3")),
            ])
            #expect(try journal.awaited() == [awaited("2", device: nil), awaited("1", .withdrawn, until: 6)])
            journal.close()
            let again = try Journal(directory: folder)
            #expect(try again.awaited().count == 2)
            try again.commit([.allAwaitedGone, .awaited(awaited("4", .dismissed))])
            #expect(try again.awaited() == [awaited("4", .dismissed)])
        }
    }

    /// An older copy of the file lacks the number too, so a reader notices that the claim is gone.
    @Test(arguments: [false, true]) func aClaimThatWaitsTakesANumber(isFollowed: Bool) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            let before = journal.newestChange
            func later() throws -> [StoredChange] {
                try journal.changes(after: Journal.ChangePosition(after: before), limit: 9, bytes: 1 << 20).changes
            }
            if isFollowed { #expect(try later().isEmpty) }
            try journal.commit([.awaited(awaited("1"))])
            #expect(try later() == [StoredChange(Int64(before) + 1, .hole)])
            try journal.commit([.allAwaitedGone, .awaited(awaited("1")), .awaited(awaited("2"))])
            #expect(try later() == [StoredChange(Int64(before) + 3, .hole)])
            try journal.commit([.allAwaitedGone, .awaitedGone(Origin(source: "chat", eventID: "1"))])
            #expect(journal.newestChange == before + 3)
            journal.close()
            let again = try Journal(directory: folder)
            #expect(again.numbers.lastBefore == before + 3)
        }
    }

    @Test func anOutcomeHasThePlaceOfItsClaimAndAReadMarkHasOne() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let phone = ClaimPlace(device: "phone", via: "mqtt")
            var claimed = StoredDecision(outcome: .withdrawn, resolved: 5)
            claimed.form = .named
            claimed.place = phone
            claimed.verdict = .suppressed
            try journal.commit([.accepted(try sample(1)), .accepted(try sample(2)), .decided(EventID(1), claimed)])
            try journal.commit([.read(EventID(2), by: ":1.7", at: 6, from: phone)])
            #expect(try journal.event(EventID(1))?.decision == claimed)
            let changes = try journal.changes(after: Journal.ChangePosition(after: 0), limit: 10, bytes: 1 << 20)
                .changes
            guard case .read(_, by: ":1.7", at: 6, from: phone)? = changes.last?.content else {
                Issue.record("the last change is \(String(describing: changes.last))")
                return
            }
        }
    }

    /// The mark came while the event was undecided.
    @Test(arguments: [Outcome.muted, .expired])
    func whatIsMarkedAsReadIsReadWhenItIsDecided(_ outcome: Outcome) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .accepted(try sample(1)), .accepted(try sample(2)), .read(EventID(1), by: ":1.7", at: 6),
            ])
            let decision = StoredDecision(outcome: outcome, resolved: 7)
            try journal.commit([.decided(EventID(1), decision), .decided(EventID(2), decision)])
            #expect(try journal.event(EventID(1))?.decision?.isRead == true)
            #expect(try journal.event(EventID(2))?.decision?.isRead == false)
        }
    }
}
