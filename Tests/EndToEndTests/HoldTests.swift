import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Claims that are to be confirmed, by the library and by programs. Their rules are scenarios.
@Suite(.serialized, .timeLimit(.minutes(1))) struct HoldTests {
    private let rig: Rig! = Fixture.current()
    private static let short = PublishOptions(window: .milliseconds(500))

    /// For what must be claimed in time, on a machine that is busy with other tests.
    private static let long = PublishOptions(window: .seconds(2))

    // MARK: One event

    @Test(.rig) func aConfirmedClaimIsAClaim() async throws {
        let id = try await rig.client.publish("/post/1", options: Self.long)
        #expect(try await rig.client.claimProvisionally(id, within: .seconds(60)) == .suppressed)
        #expect(try await rig.client.claimProvisionally(id, within: .seconds(60)) == .recorded)
        try await rig.client.complete(id)
        #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
        #expect(rig.server.banners.all.isEmpty)
        let reason = try await rig.client.explain(id).reason
        #expect(reason.contains(" held it ") && reason.contains("after it was published, and confirmed it after "))
    }

    @Test(.rig, arguments: [Duration.zero, .seconds(601), .seconds(-1)])
    func aTimeToConfirmHasItsLimits(_ time: Duration) async throws {
        let id = try await rig.client.publish("/post/1", options: Self.long)
        let error = await #expect(throws: NotifyError.self) {
            try await rig.client.claimProvisionally(id, within: time)
        }
        let isNegative = time < .zero
        #expect(error?.code == (isNegative ? .invalidArgument : .refused))
        #expect(error?.name == (isNegative ? nil : "org.notifyd.Router1.Error.LimitExceeded"))
    }

    // MARK: Handlers

    @Test func aHandlerClaimsWhenItReturnsAndReleasesWhenItThrows() async throws {
        struct Failure: Error {}
        try await withRig { rig in
            let failed = Mailbox<EventID>()
            let handling = try await rig.subscriber(to: "/post") {
                Task {
                    try await rig.client.handle(eventsAt: "/post", within: .seconds(60)) { event, error in
                        if error is Failure { failed.put(event.id) }
                    } _: { event in
                        if event.title == "bad" { throw Failure() }
                    }
                }
            }
            #expect(try await rig.outcome(ofEventAt: "/post/1", title: "good", options: Self.long) == "claimed")
            let bad = try await rig.client.publish("/post/2", title: "bad", options: Self.long)
            #expect(await rig.listener.resolution(of: bad)?.outcome == "shown")
            #expect(await failed.next(within: .seconds(5)) == bad)
            handling.cancel()
            try await handling.value
        }
    }

    @Test(.rig) func handlersRunInOrderAndNoMoreThanAllowedAtOnce() async throws {
        let (begun, mayEnd) = (Mailbox<EventID>(), Mailbox<Void>())
        let handling = try await rig.subscriber(to: "/post") {
            Task {
                try await rig.client.handle(eventsAt: "/post", within: .seconds(60), atOnce: 2) { event in
                    begun.put(event.id)
                    _ = await mayEnd.next(within: .seconds(10))
                }
            }
        }
        var ids: [EventID] = []
        for number in 1...5 { ids.append(try await rig.client.publish("/post/\(number)", options: Self.long)) }
        for id in ids {
            // Two have begun, whichever came first; the next begins when one has ended.
            #expect(await begun.next(within: .seconds(5), where: { $0 == id }) != nil)
            #expect(begun.all.count <= mayEnd.all.count + 2)
            if begun.all.count >= 2 { mayEnd.put(()) }
        }
        mayEnd.put(())
        for id in ids { #expect(await rig.listener.resolution(of: id)?.outcome == "claimed") }
        #expect(rig.server.banners.all.isEmpty)
        handling.cancel()
        try await handling.value
    }

    @Test(.rig) func aHandlerThatIsStoppedReleasesWhatWaitedForItsTurn() async throws {
        let begun = Mailbox<EventID>()
        let handling = try await rig.subscriber(to: "/post") {
            Task {
                try await rig.client.handle(eventsAt: "/post", within: .seconds(60), atOnce: 1) { event in
                    begun.put(event.id)
                    try await Task.sleep(for: .seconds(60))
                }
            }
        }
        let (claims, monitor) = try await rig.calls(of: "ClaimProvisionally")
        var ids: [EventID] = []
        for number in 1...2 { ids.append(try await rig.client.publish("/post/\(number)", options: Self.long)) }
        #expect(await begun.next(within: .seconds(5)) == ids[0])
        for _ in ids { #expect(await claims.next(within: .seconds(5)) != nil) }
        monitor.close()
        handling.cancel()
        try await handling.value
        for id in ids { #expect(await rig.listener.resolution(of: id)?.outcome == "shown") }
    }

    @Test(.rig) func aHandlerThatIsTooSlowIsTold() async throws {
        let errors = Mailbox<NotifyError>()
        let handling = try await rig.subscriber(to: "/post") {
            Task {
                try await rig.client.handle(eventsAt: "/post", within: .milliseconds(800), atOnce: 1) { _, error in
                    if let error = error as? NotifyError { errors.put(error) }
                } _: { event in
                    // Until its banner is there.
                    if event.topic == "/post/1" { _ = await rig.server.banners.next(within: .seconds(5)) }
                }
            }
        }
        try await rig.client.publish("/post/1", options: Self.short)
        let late = await errors.next(within: .seconds(5))
        #expect(late?.name == "org.notifyd.Router1.Error.NotClaimant")
        handling.cancel()
        try await handling.value
    }
}
