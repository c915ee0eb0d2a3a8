import ChildProcesses
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Claims that are to be confirmed, claims of whole topics, and quiet. In doubt the banner is shown.
@Suite(.serialized, .timeLimit(.minutes(1))) struct HoldTests {
    private static let short = PublishOptions(window: .milliseconds(500))

    /// For what must be claimed in time, on a machine that is busy with other tests.
    private static let long = PublishOptions(window: .seconds(2))

    // MARK: One event

    @Test func aConfirmedClaimIsAClaim() async throws {
        try await withRig { rig in
            let id = try await rig.client.publish("/post/1", options: Self.long)
            #expect(try await rig.client.claimProvisionally(id, within: .seconds(60)) == .suppressed)
            #expect(try await rig.client.claimProvisionally(id, within: .seconds(60)) == .recorded)
            try await rig.client.complete(id)
            #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
            #expect(rig.server.banners.all.isEmpty)
            let reason = try await rig.client.explain(id).reason
            #expect(reason.contains(" held it ") && reason.contains("after it was published, and confirmed it after "))
        }
    }

    @Test func everyStepOfAClaimIsKept() async throws {
        try await withRig { rig in
            let leaver = try await NotifyClient(address: rig.bus.address)
            let id = try await rig.client.publish("/post/1", options: PublishOptions(window: .seconds(60)))
            _ = try await leaver.claimProvisionally(id, within: .seconds(60))
            await leaver.close()
            func forms() async throws -> [String] { try await rig.client.explain(id).claims.map(\.form) }
            try await rig.until("the one who left is noticed") { try await forms().last == "left" }
            _ = try await rig.client.claimProvisionally(id, within: .milliseconds(1))
            try await rig.until("the hold runs out") { try await forms().last == "ranout" }
            _ = try await rig.client.claimProvisionally(id, within: .seconds(60))
            try await rig.client.release(id)
            _ = try await rig.client.claimProvisionally(id, within: .seconds(60))
            try await rig.client.complete(id)
            let claims = try await rig.client.explain(id).claims
            let hold = "ClaimProvisionally"
            #expect(claims.map(\.form) == [hold, "left", hold, "ranout", hold, "Release", hold, "Complete"])
            #expect(claims.map(\.verdict.rawValue).filter { $0 == "recorded" }.count == 3)
            let drawing = try await rig.run("why", "\(id)").output.joined(separator: "\n")
            for words in ["left the bus at", "not confirmed in time", "released at", "Complete at"] {
                #expect(drawing.contains(words), "\(drawing)")
            }
        }
    }

    @Test func aFailedHandlerIsToldByWhy() async throws {
        try await withRig { rig in
            let process = try await rig.subscriber(to: "/post") {
                try rig.start("listen", "/post", "--claim", "--exec", "exit 3", "-n", "1")
            }
            let id = try await rig.client.publish("/post/1", options: Self.long)
            #expect(await process.waitForExit() == .code(0))
            #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
            #expect(try await rig.client.explain(id).claims.map(\.form) == ["ClaimProvisionally", "Release"])
        }
    }

    @Test func aReleasedClaimLeavesTheWindowAsItWas() async throws {
        try await withRig { rig in
            let sent = ContinuousClock.now
            let id = try await rig.client.publish("/post/1", options: PublishOptions(window: .seconds(1)))
            #expect(try await rig.client.claimProvisionally(id, within: .seconds(60)) == .suppressed)
            try await rig.client.release(id)
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(banner.arrival - sent >= .seconds(1))
        }
    }

    @Test func aClaimThatIsNotConfirmedInTimeBringsTheBanner() async throws {
        try await withRig { rig in
            let sent = ContinuousClock.now
            let id = try await rig.client.publish("/post/1", options: Self.short)
            #expect(try await rig.client.claimProvisionally(id, within: .milliseconds(800)) == .suppressed)
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(banner.arrival - sent >= .milliseconds(800))
            let error = await #expect(throws: NotifyError.self) { try await rig.client.complete(id) }
            #expect(error?.name == "org.notifyd.Router1.Error.NotClaimant")
        }
    }

    @Test func onlyTheHolderMayConfirmOrRelease() async throws {
        try await withRig { rig in
            let stranger = try await NotifyClient(address: rig.bus.address)
            let id = try await rig.client.publish("/post/1", options: Self.long)
            #expect(try await rig.client.claimProvisionally(id, within: .seconds(60)) == .suppressed)
            for answer in [stranger.complete, stranger.release] {
                let error = await #expect(throws: NotifyError.self) { try await answer(id) }
                #expect(error?.name == "org.notifyd.Router1.Error.NotClaimant")
            }
            try await rig.client.complete(id)
            await stranger.close()
        }
    }

    @Test(arguments: [Duration.zero, .seconds(601), .seconds(-1)])
    func aTimeToConfirmHasItsLimits(_ time: Duration) async throws {
        try await withRig { rig in
            let id = try await rig.client.publish("/post/1", options: Self.long)
            let error = await #expect(throws: NotifyError.self) {
                try await rig.client.claimProvisionally(id, within: time)
            }
            let isNegative = time < .zero
            #expect(error?.code == (isNegative ? .invalidArgument : .refused))
            #expect(error?.name == (isNegative ? nil : "org.notifyd.Router1.Error.LimitExceeded"))
        }
    }

    @Test func aClaimantThatIsKilledAfterTheWindowBringsTheBannerAtOnce() async throws {
        try await withRig { rig in
            let (process, command) = try await claimant(rig)
            let sent = ContinuousClock.now
            let id = try await rig.client.publish("/post/1", options: Self.short)
            let shell = try #require(await command.next(within: .seconds(5), where: { $0.hasPrefix("held ") }))
            try await Task.sleep(until: sent + .milliseconds(600), clock: .continuous)
            #expect(rig.server.banners.all.isEmpty)
            process.signal(SIGKILL)
            #expect(await rig.server.banners.next(within: .seconds(5)) != nil)
            #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
            if let number = pid_t(shell.dropFirst(5)) { kill(number, SIGKILL) }
        }
    }

    @Test func aClaimantThatIsKilledWithinTheWindowBringsTheBannerAtItsEnd() async throws {
        try await withRig { rig in
            let (process, command) = try await claimant(rig)
            let sent = ContinuousClock.now
            let id = try await rig.client.publish("/post/1", options: Self.long)
            let shell = try #require(await command.next(within: .seconds(5), where: { $0.hasPrefix("held ") }))
            process.signal(SIGKILL)
            let banner = try #require(await rig.server.banners.next(within: .seconds(10)))
            #expect(banner.arrival - sent >= .seconds(2))
            #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
            if let number = pid_t(shell.dropFirst(5)) { kill(number, SIGKILL) }
        }
    }

    /// A process that holds what it hears, and says which shell it has started then.
    private func claimant(_ rig: Rig) async throws -> (ChildProcess, Mailbox<String>) {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--claim", "--exec", "echo held $$; exec sleep 30")
        }
        return (process, process.lines(of: 1))
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

    @Test func handlersRunInOrderAndNoMoreThanAllowedAtOnce() async throws {
        try await withRig { rig in
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
    }

    @Test func aHandlerThatIsStoppedReleasesWhatWaitedForItsTurn() async throws {
        try await withRig { rig in
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
    }

    @Test func aHandlerThatIsTooSlowIsTold() async throws {
        try await withRig { rig in
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

    // MARK: Topics

    @Test func aTopicClaimTakesDownWhatIsThereAndGoesOnForAMoment() async throws {
        try await withRig { rig in
            #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
            let open = try await rig.client.publish("/post/27/a", options: PublishOptions(window: .seconds(60)))
            #expect(try await rig.client.claimTopic("/post/27", grace: .seconds(10)) == 2)
            #expect(await rig.server.closes.next(within: .seconds(5)) != nil)
            #expect(await rig.listener.resolution(of: open)?.outcome == "claimed")
            // The grace outlives the claimant.
            let other = try await NotifyClient(address: rig.bus.address)
            let screen = try await other.openScreen("/other")
            let name = try #require(try await rig.client.screens().first?.owner)
            await screen.close()
            #expect(try await other.claimTopic("/post/28", grace: .seconds(10)) == 0)
            try await rig.departure(of: name) { await other.close() }
            #expect(try await rig.outcome(ofEventAt: "/post/27/b") == "claimed")
            #expect(try await rig.outcome(ofEventAt: "/post/28") == "claimed")
            #expect(try await rig.outcome(ofEventAt: "/post/29") == "shown")
            let error = await #expect(throws: NotifyError.self) {
                try await rig.client.claimTopic("/post", grace: .seconds(11))
            }
            #expect(error?.name == "org.notifyd.Router1.Error.LimitExceeded")
        }
    }

    // MARK: Quiet

    @Test func whatIsMutedIsHeardAndNotShown() async throws {
        try await withRig { rig in
            try await rig.client.mute("/post", for: .seconds(60))
            #expect(try await rig.outcome(ofEventAt: "/post/1") == "muted")
            #expect(try await rig.outcome(ofEventAt: "/chat") == "shown")
            try await rig.client.mute("/post", for: .zero)
            #expect(try await rig.outcome(ofEventAt: "/post/2") == "shown")
            #expect(rig.server.banners.all.count == 2)
        }
    }

    @Test func pausingStopsAllBanners() async throws {
        try await withRig { rig in
            #expect(try await !rig.client.paused())
            try await rig.client.setPaused(true)
            #expect(try await rig.client.paused())
            #expect(try await rig.outcome(ofEventAt: "/post/1") == "muted")
            try await rig.client.setPaused(false)
            #expect(try await rig.outcome(ofEventAt: "/post/1") == "shown")
        }
    }

    @Test func chosenButtonsAreHeard() async throws {
        try await withRig { rig in
            var actions = try await rig.client.actions(at: "/run").makeAsyncIterator()
            let id = try await rig.client.publish("/run/r1/invite", fields: ["from": "Mina"])
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            rig.server.invoke("accept", on: banner.id)
            #expect(try await actions.next() == Action(id: id, topic: "/run/r1/invite", action: "accept"))
        }
    }
}
