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
        let source = "notifyd:" + bus.daemon.device
        bus.publish(Origin(source: "chat"))
        let unnamed = bus.daemon.router.lastID
        bus.publish(name("1"))
        let named = bus.daemon.router.lastID
        // The turn goes on, and what it accepted is known.
        bus.publish(name("\(unnamed)", of: source))
        bus.publish(name("\(named)", of: source))
        bus.endTurn()
        for text in ["\(unnamed)", "0\(unnamed)", "+\(unnamed)"] { bus.publish(name(text, of: source)) }
        bus.publish(name("\(unnamed)", of: "notifyd:another"))
        bus.endTurn()
        let accepted = bus.accepted
        #expect(accepted[..<3] == [unnamed, named, unnamed])
        #expect(accepted[3] > named, "it has another name")
        #expect(accepted[4] == unnamed)
        #expect(Set(accepted[5...]).subtracting(accepted[..<5]).count == 3)
    }

    @Test func anEventOfAnEarlierRunIsCalledSoToo() {
        let bus = SlowBus { disk in disk.keepShown(7, World.topics[0], in: 1, of: 7) }
        bus.publish(name("7", of: "notifyd:" + bus.daemon.device))
        bus.endTurn()
        #expect(bus.accepted == [EventID(7)])
    }
}
