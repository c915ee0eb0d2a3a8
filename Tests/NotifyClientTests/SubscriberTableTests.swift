import NotifyRehearsal
import Testing

@testable import NotifyClient

struct SubscriberTableTests {
    private let table = SubscriberTable()
    private let heard = Mailbox<String>()
    private let rule = MatchRule(interface: Router.interface, member: "Removed")

    private func subscribe() {
        table.setDaemon(":1.7")
        table.add(
            SubscriberTable.Subscriber(
                rules: [rule],
                receive: { [heard] in if case .signal(let removal as Removal) = $0 { heard.put(removal.topic) } },
                end: { _ in }),
            id: 1)
    }

    private func announce(from sender: String) {
        var signal = Message.signal("Removed", of: Router.interface, at: Router.path, [.string("/live/a"), .uint64(5)])
        signal.sender = sender
        table.receive(signal)
    }

    /// The bus knows the rules a moment before we know that it does.
    @Test func whatComesRightBehindTheRulesIsHeard() {
        subscribe()
        announce(from: ":1.7")
        #expect(heard.all == ["/live/a"])
    }

    @Test func whatAnybodyElseAnnouncesIsNotHeard() {
        subscribe()
        announce(from: ":1.8")
        #expect(heard.all.isEmpty)
    }
}
