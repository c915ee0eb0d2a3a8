import Testing

@testable import Routing

/// `ClaimNamed` in the router: events that are there, and events that have not come.
struct ClaimNamedTests {
    private static let phone = ClaimPlace(device: "phone", via: "mqtt")

    private var start: Now { Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0)) }

    private func after(_ time: Duration) -> Now {
        Now(instant: start.instant + time, uptime: start.uptime + time)
    }

    private func router(_ change: (inout Limits) -> Void = { _ in }) -> Router {
        var limits = Limits()
        change(&limits)
        return Router(
            routes: RouteTable(fallback: Route(pattern: nil, window: .seconds(1))), limits: limits,
            firstID: EventID(100))
    }

    private func claim(
        _ id: String, _ kind: NamedClaim.Kind = .claimed, left: Duration? = nil, by claimant: String = ":1.1"
    ) -> Call {
        let origin = Origin(source: "chat", eventID: id)
        return .claimedNamed(
            NamedClaim(
                name: .origin(origin), origin: origin, kind: kind, claimant: claimant, place: Self.phone, left: left),
            event: nil)
    }

    private func push(_ id: String?, lifetime: Duration? = nil) -> Call {
        var options = PublishOptions()
        if let id { options.origin = Origin(source: "chat", eventID: id) }
        options.lifetime = lifetime
        return .published(
            Publication(topic: try! Topic("/post/1"), title: "t", body: "", options: options, sender: ":1.2"))
    }

    private func resolutions(_ effects: [Effect]) -> [Resolution] {
        effects.compactMap { if case .resolve(_, _, let resolution) = $0 { resolution } else { nil } }
    }

    @Test(arguments: NamedClaim.Kind.allCases)
    func anAwaitedEventIsAnnouncedAsClaimed(_ kind: NamedClaim.Kind) {
        var router = router()
        #expect(router.handle(claim("1", kind), at: start).reply == .success(.verdict(.awaited)))
        let effects = router.handle(push("1", lifetime: .zero), at: after(.seconds(3600))).effects
        let announced = effects.contains { if case .announce(_, let said) = $0 { said.isClaimed } else { false } }
        #expect(announced)
        let resolution = resolutions(effects).first
        #expect(resolution?.outcome == (kind == .withdrawn ? .withdrawn : .claimed))
        #expect(resolution?.form == .named && resolution?.place == Self.phone && resolution?.latency == .zero)
        #expect(router.awaitedCount == 0 && router.undecidedCount == 0)
    }

    /// The banner of one event closes; that of two stays for the other one.
    @Test(arguments: [false, true])
    func whatWasReadElsewhereLeavesItsBanner(_ isOther: Bool) throws {
        var bench = Bench([Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100))])
        bench.take(.server(.ready))
        var options = PublishOptions()
        options.origin = Origin(source: "chat", eventID: "1")
        let id = bench.publish("/post/1", options: options)
        if isOther { bench.publish("/post/1") }
        bench.show(7)
        let effects = bench.take(claim("1", .read))
        #expect(bench.reply == .success(.verdict(isOther ? .recorded : .retracted)))
        #expect(effects.outcomes == [id: .retracted] && effects.resolutions[id]?.place == Self.phone)
        #expect(effects.closed == (isOther ? [] : [BannerID(7)]))
    }

    @Test func whatWasReadElsewhereBeforeItsBannerIsClaimed() {
        var router = router()
        _ = router.handle(push("1"), at: start)
        let (reply, effects) = router.handle(claim("1", .read), at: start)
        #expect(reply == .success(.verdict(.suppressed)))
        #expect(resolutions(effects).map(\.outcome) == [.claimed])
        #expect(router.undecidedCount == 0)
    }

    @Test func anEventWithoutANameOfItsOwnIsAwaitedByItsID() {
        var router = router()
        let origin = Origin(source: "notifyd:device", eventID: "100")
        let named = NamedClaim(name: .own(EventID(100)), origin: origin, claimant: ":1.1")
        #expect(router.handle(.claimedNamed(named, event: nil), at: start).reply == .success(.verdict(.awaited)))
        #expect(resolutions(router.handle(push(nil), at: start).effects).map(\.outcome) == [.claimed])
        #expect(resolutions(router.handle(push(nil), at: start).effects).isEmpty)
    }

    @Test func anEventThatCannotBeStoredIsAwaitedAgain() {
        var router = router()
        _ = router.handle(claim("1"), at: start)
        _ = router.handle(push("1"), at: start)
        #expect(router.awaitsStored && router.awaitedCount == 0)
        _ = router.handle(.stored(except: [EventID(100)]), at: start)
        #expect(!router.awaitsStored && router.awaitedCount == 1)
        #expect(resolutions(router.handle(push("1"), at: start).effects).map(\.outcome) == [.claimed])
        _ = router.handle(.stored(except: []), at: start)
        #expect(!router.awaitsStored)
    }

    @Test func anEventIsAwaitedForADayAtLeastAndFourWeeksAtMost() {
        var router = router()
        for (name, left) in [
            ("1", nil), ("2", Duration.seconds(60)), ("3", .seconds(90_000)), ("4", .seconds(1 << 40)),
        ] {
            _ = router.handle(claim(name, left: left), at: start)
        }
        func left(at moment: Duration) -> Int {
            _ = router.handle(.timerFired, at: after(moment))
            return router.awaitedCount
        }
        #expect(left(at: .seconds(86_399)) == 4)
        #expect(left(at: .seconds(86_400)) == 2)
        #expect(left(at: .seconds(90_000)) == 1)
        #expect(left(at: .seconds(28 * 86_400 - 1)) == 1)
        #expect(left(at: .seconds(28 * 86_400)) == 0)
    }

    @Test func aRepeatProlongsTheTimeAndAReadMarkGivesWay() {
        var router = router()
        _ = router.handle(claim("1", .read), at: start)
        _ = router.handle(claim("1", .withdrawn), at: start)
        let unchanged = router.handle(claim("1", .claimed), at: start).effects
        #expect(!unchanged.contains { if case .awaited(_, .some) = $0 { true } else { false } })
        let longer = router.handle(claim("1", .claimed, left: .seconds(100_000)), at: start).effects
        #expect(longer.contains { if case .awaited(_, .some) = $0 { true } else { false } })
        _ = router.handle(.timerFired, at: after(.seconds(99_999)))
        #expect(
            resolutions(router.handle(push("1"), at: after(.seconds(99_999))).effects).map(\.outcome) == [.withdrawn])
    }

    @Test func theLimitsOfAProgramAreNamed() {
        for (change, name) in [
            ({ $0.awaitedPerProgram = 2 }, "awaited events of one program: 2 "),
            ({ $0.awaitedBytesPerProgram = 2 * 820 }, "bytes of awaited events of one program: "),
        ] as [((inout Limits) -> Void, String)] {
            var router = router(change)
            for name in ["1", "2"] {
                #expect(router.handle(claim(name), at: start).reply == .success(.verdict(.awaited)))
            }
            let refusal = router.handle(claim("3"), at: start).reply.refused(Refusal.limitExceeded)
            #expect(refusal?.hasPrefix(name) == true)
            #expect(router.handle(claim("2"), at: start).reply == .success(.verdict(.awaited)))
            #expect(router.handle(claim("3", by: ":1.2"), at: start).reply == .success(.verdict(.awaited)))
            // What has come makes room.
            _ = router.handle(push("1"), at: start)
            #expect(router.handle(claim("4"), at: start).reply == .success(.verdict(.awaited)))
        }
    }

    private func awaited(_ router: Router) -> Set<String> {
        Set(router.awaitedClaims.compactMap(\.claim.origin.eventID))
    }

    @Test func aProgramThatConnectsAgainHasOneLimit() {
        var router = router { $0.awaitedPerProgram = 3 }
        for (number, caller) in [":1.1", ":1.2", ":1.3"].enumerated() {
            _ = router.handle(claim("\(number)", by: caller), at: start)
            // The bus says it before or after the connection has gone.
            let hasLeft = number == 1
            if hasLeft { _ = router.handle(.peer(caller, .left), at: start) }
            _ = router.handle(.peer(caller, .identified(as: "bridge", hasLeft: hasLeft)), at: start)
            #expect(router.awaitedClaims.allSatisfy { $0.claim.program == "bridge" })
            if !hasLeft { _ = router.handle(.peer(caller, .left), at: start) }
        }
        _ = router.handle(.peer(":1.4", .identified(as: "bridge", hasLeft: false)), at: start)
        #expect(router.handle(claim("4", by: ":1.4"), at: start).reply.refused(Refusal.limitExceeded) != nil)
        _ = router.handle(.peer(":1.5", .identified(as: "other", hasLeft: false)), at: start)
        #expect(router.handle(claim("4", by: ":1.5"), at: start).reply == .success(.verdict(.awaited)))
    }

    @Test(arguments: [true, false]) func aFullTableLosesWhatTheLargestOwnerAwaitsForTheShortestTime(_ byBytes: Bool) {
        var router = router { limits in
            if byBytes { limits.awaitedBytes = 4 * 820 } else { limits.awaited = 4 }
        }
        for (name, days) in [("a", 3), ("b", 2), ("c", 4)] {
            _ = router.handle(claim(name, left: .seconds(days * 86_400)), at: start)
        }
        for name in ["d", "e"] {
            #expect(router.handle(claim(name, by: ":1.2"), at: start).reply == .success(.verdict(.awaited)))
        }
        #expect(awaited(router) == ["a", "c", "d", "e"])
        let (reply, effects) = router.handle(claim("f", by: ":1.3"), at: start)
        #expect(effects.count { if case .awaited(_, nil) = $0 { true } else { false } } == 1)
        #expect(reply == .success(.verdict(.awaited)))
        #expect(awaited(router).contains("f") && router.awaitedCount == 4 && router.awaitedFill >= 75)
    }

    @Test func whatAProgramAwaitedInAnEarlierRunCountsForIt() {
        var router = router { $0.awaitedPerProgram = 2 }
        var restoration = Restoration()
        restoration.awaited = ["1", "2"].map {
            let origin = Origin(source: "chat", eventID: $0)
            return Restoration.Remembered(
                NamedClaim(name: .origin(origin), origin: origin, claimant: ":1.1", program: "bridge"),
                left: .seconds(5))
        }
        _ = router.handle(.restored(restoration), at: start)
        #expect(router.handle(claim("3"), at: start).reply == .success(.verdict(.awaited)))
        _ = router.handle(.peer(":1.1", .identified(as: "bridge", hasLeft: false)), at: start)
        #expect(router.handle(claim("4"), at: start).reply.refused(Refusal.limitExceeded) != nil)
    }

    @Test func allAwaitedEventsCanBeForgotten() {
        var router = router()
        for name in ["1", "2"] { _ = router.handle(claim(name), at: start) }
        _ = router.handle(.forgotten([], awaited: true), at: start)
        #expect(router.awaitedCount == 0 && router.awaitedFill == 0)
        #expect(resolutions(router.handle(push("1"), at: start).effects).isEmpty)
    }

    @Test func whatAnEarlierRunAwaitedClaimsAnEventThatItLeftUndecided() {
        var router = router()
        let origin = Origin(source: "chat", eventID: "1")
        let other = Origin(source: "chat", eventID: "2")
        let event = Event.sample(7, origin: origin)
        var restoration = Restoration()
        restoration.awaited = [origin, other].map {
            Restoration.Remembered(
                NamedClaim(name: .origin($0), origin: $0, claimant: ":1.1", place: Self.phone),
                left: $0 == origin ? .seconds(5) : .zero)
        }
        restoration.undecided = [
            Restoration.Remembered((event: event, window: .seconds(1), age: nil), left: .seconds(60))
        ]
        let effects = router.handle(.restored(restoration), at: start)
        #expect(resolutions(effects).map(\.outcome) == [.claimed])
        #expect(effects.count { if case .awaited(_, nil) = $0 { true } else { false } } == 2)
        #expect(router.awaitedCount == 0)
        #expect(router.handle(claim("3"), at: start).reply == .success(.verdict(.awaited)))
    }

    @Test func optionsThatContradictEachOtherAreRefused() throws {
        let both = [Field(name: "read", value: .boolean(true)), Field(name: "dismissed", value: .boolean(true))]
        #expect(throws: Refusal.self) { try NamedClaimOptions(both) }
        let one = try NamedClaimOptions([
            Field(name: "read", value: .boolean(false)), Field(name: "dismissed", value: .boolean(true)),
            Field(name: "expires", value: .int32(7)),
        ])
        #expect(one.kind == .dismissed && one.expires == 7 && one.place == ClaimPlace())
    }
}
