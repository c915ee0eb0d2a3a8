import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// An earlier run left a lot undecided: it is announced again a portion at a time, and nobody waits for that.
/// `NOTIFYD_BACKLOG=99000` makes it as many as there can be.
@Suite(.timeLimit(.minutes(5)))
struct BacklogTests {
    private static let count = getenv("NOTIFYD_BACKLOG").flatMap { Int(String(cString: $0)) } ?? 4_000

    @Test func whoCallsMeanwhileIsAnsweredAndEveryEventHasItsWindow() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try rig.writeBacklog(of: Self.count)
            let begin = ContinuousClock.now
            try await rig.daemon.start()
            let atStart = try rig.peakMemory()
            // The last one's turn is far away.
            let last = try #require(ids.last)
            #expect(try await rig.claim(last) == "suppressed")
            let answered = ContinuousClock.now - begin
            #expect(try await rig.property("Pending")?.integer() == Self.count - 1)

            var announced: [UInt64] = []
            var shortest = Duration.seconds(60)
            while announced.count < Self.count {
                let signal = try #require(await rig.signals.next(within: FaultRig.patience) { $0.member == "Event" })
                let information = signal.arguments.last?.entries ?? [:]
                #expect(information["replayed"]?.boolean == true)
                announced.append(signal.arguments[1].integer() ?? 0)
                let window: UInt32 = information["window"]?.integer() ?? 0
                shortest = min(shortest, .milliseconds(window))
            }
            let whole = ContinuousClock.now - begin
            let peak = try rig.peakMemory()
            // It is announced as it is claimed, and that is before its turn: how long before depends on the machine.
            #expect(announced.filter { $0 != last } == ids.dropLast())
            // Two seconds, less what its turn took until it left: an event must not find its window half over.
            #expect(shortest >= .milliseconds(1_000))
            try await rig.untilSettled()
            let outcomes = Set(try await rig.history().filter { $0.id != last }.map(\.outcome))
            #expect(outcomes == ["shown"])
            let highest = try rig.peakMemory()
            // What is taken grows with what is kept, as reckoned, and not with what was read; a sanitizer adds its own.
            if ChildProcess.sanitizerEnvironment.isEmpty {
                #expect(highest - atStart <= Self.count * FaultRig.backlogFootprint + 10 << 20)
            }
            print(
                "\(Self.count) events: first answer after \(answered), all announced after "
                    + "\(whole) with \(peak >> 20) MiB,",
                "all shown with \(highest >> 20) MiB")
        }
    }

    @Test func aTopicClaimTakesWhatHasNotBeenAnnouncedAgain() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try rig.writeBacklog(of: Self.count)
            try await rig.daemon.start()
            let reply = try await rig.call("ClaimTopic", ["/backlog", .uint32(0)], timeout: .seconds(60))
            #expect(reply.arguments.first == .uint32(UInt32(ids.count)))
            try await rig.untilSettled()
            #expect(Set(try await rig.history().map(\.outcome)) == ["claimed"])
            #expect(rig.server.banners.all.isEmpty)
        }
    }

    @Test func aScreenThatOpensMeanwhileClaimsWhatIsStillToCome() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try rig.writeBacklog(of: Self.count)
            try await rig.daemon.start()
            try await rig.call("OpenScreen", ["/backlog", .variants([:])])
            try await rig.untilSettled()
            let history = try await rig.history()
            #expect(history.map(\.id) == ids)
            #expect(Set(history.map(\.outcome)) == ["claimed"])
        }
    }

    @Test(
        arguments: [
            ("ClaimTopic", ["/", .uint32(0)]), ("OpenScreen", ["/", .variants([:])]), ("MarkRead", ["/", .uint64(0)]),
        ] as [(String, [Value])])
    func aCallThatClaimsAllEventsTakesLittleMemoryBesideThem(_ member: String, _ arguments: [Value]) async throws {
        try await withFaultRig(isStarted: false) { rig in
            let count = max(Self.count, 20_000)
            let ids = try rig.writeBacklog(of: count)
            try await rig.daemon.start()
            try await rig.until("all are announced again", within: .seconds(60)) {
                rig.signals.all.count { $0.member == "Event" } >= count
            }
            try rig.resetPeakMemory()
            let before = try rig.peakMemory()
            let begin = ContinuousClock.now
            try await rig.call(member, arguments, timeout: .seconds(60))
            let answered = ContinuousClock.now - begin
            try await rig.until("all are claimed", within: .seconds(60)) {
                rig.signals.all.count { $0.member == "Resolved" } >= count
            }
            let peak = try rig.peakMemory()
            // On a slow machine some windows have ended before, and their events are resolved in another order.
            let resolved = rig.signals.all.filter { $0.member == "Resolved" }.compactMap { signal -> UInt64? in
                if case .uint64(let id) = signal.arguments[1] { id } else { nil }
            }
            #expect(resolved.sorted() == ids)
            if ChildProcess.sanitizerEnvironment.isEmpty {
                // What a start leaves free in the heap is used first, and counts in `before`; it is about 4 MiB.
                #expect(peak - before <= count * 250 + 4 << 20)
                try await rig.until("what the events took is free again") {
                    try rig.residentMemory() <= before - count * 250
                }
            }
            print(
                "\(member) of \(count) events: answered after \(answered);",
                "\(before >> 20) MiB before, \(peak >> 20) MiB at most, "
                    + "\(try rig.residentMemory() >> 20) MiB afterwards"
            )
        }
    }
}
