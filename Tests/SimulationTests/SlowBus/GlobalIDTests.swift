import Journal
import Routing
import Testing

@testable import NotifyDaemon

/// Repeats of events that the router has forgotten.
struct GlobalIDTests {
    private func name(_ id: String, of source: String = "chat") -> Origin { Origin(source: source, eventID: id) }

    @Test func aRepeatIsRecognisedAsLongAsTheEventIsInTheJournal() {
        var limits = Limits()
        limits.globalIDs = 1
        let bus = SlowBus(limits: limits)
        for id in ["1", "2", "1", "2"] {
            bus.publish(name(id))
            bus.endTurn()
        }
        #expect(bus.accepted.count == 4)
        #expect(bus.accepted[2...] == bus.accepted[..<2])
        #expect(bus.stored == 2)
    }

    @Test func aRepeatIsRecognisedAfterItsTimeInMemory() {
        var limits = Limits()
        limits.deduplicationTime = .seconds(10)
        let bus = SlowBus(limits: limits)
        for pause in [9, 2, 30, 0] {
            bus.publish(name("1"))
            bus.endTurn()
            bus.sleep(.seconds(pause))
        }
        #expect(Set(bus.accepted).count == 1)
        #expect(bus.stored == 1)
    }

    @Test func anEventWithoutANameIsCalledByDeviceAndID() {
        let bus = SlowBus()
        let source = "notifyd:" + bus.daemon.router.device
        bus.publish(Origin(source: "chat"))
        let unnamed = bus.daemon.router.lastID
        bus.publish(name("1"))
        let named = bus.daemon.router.lastID
        // The turn goes on, and what it accepted is known.
        bus.publish(name("\(unnamed)", of: source))
        bus.publish(name("\(named)", of: source))
        bus.endTurn()
        bus.publish(name("\(unnamed)", of: source))
        bus.publish(name("\(unnamed)", of: "notifyd:another"))
        bus.endTurn()
        let accepted = bus.accepted
        #expect(accepted[..<3] == [unnamed, named, unnamed])
        #expect(accepted[3] > named, "it has another name")
        #expect(accepted[4] == unnamed)
        #expect(accepted[5] > accepted[3], "another device")
    }

    @Test func aNameOfThisDeviceIsNotTakenInAdvance() {
        let bus = SlowBus()
        let source = "notifyd:" + bus.daemon.router.device
        bus.publish(Origin())
        let last = bus.daemon.router.lastID.rawValue
        let forged = ["\(last + 1)", "\(last + 2)", "\(UInt64.max)", "0\(last)", "+\(last)", "x", "-1", "1\u{301}"]
        for text in forged { bus.publish(name(text, of: source)) }
        bus.endTurn()
        let refusals = bus.sent.filter {
            guard case .refused(.invalidEvent(let text)) = $0 else { return false }
            return text.contains("names of this device are given by it")
        }
        #expect(refusals.count == forged.count)
        #expect(bus.stored == 1)
        #expect(bus.daemon.router.statistics[.refused] == UInt64(forged.count))
        // An event that a journal has lost comes back under its name, once.
        for _ in 1...2 { bus.publish(name("1", of: source)) }
        bus.endTurn()
        #expect(bus.stored == 2)
    }

    @Test func anEventOfAnEarlierRunIsCalledSoToo() {
        let bus = SlowBus { disk in disk.keepShown(7, World.topics[0], in: 1, of: 7) }
        bus.publish(name("7", of: "notifyd:" + bus.daemon.router.device))
        bus.endTurn()
        #expect(bus.accepted == [EventID(7)])
    }
}
