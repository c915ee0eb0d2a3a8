import Testing

@testable import Systemd

/// Messages are accepted by the sender that the bus has written.
struct SpeakerTests {
    @Test func onlyTheBusIsTheBus() {
        #expect(ExpectedSender.bus.matches("org.freedesktop.DBus"))
        #expect(!ExpectedSender.bus.matches(":1.7"))
        #expect(!ExpectedSender.bus.matches(""))
    }

    @Test func onlyTheLibraryReportsOnItsConnection() {
        #expect(ExpectedSender.library.matches("org.freedesktop.DBus.Local"))
        #expect(!ExpectedSender.library.matches(":1.7"))
        #expect(!ExpectedSender.library.matches("org.freedesktop.DBus"))
    }

    @Test func onlyTheOwnerOfANameMatches() {
        var owner: String? = ":1.7"
        let sender = ExpectedSender.owner(of: "org.example") { owner }
        #expect(sender.matches(":1.7"))
        #expect(!sender.matches(":1.8"))
        owner = nil
        #expect(!sender.matches(":1.7"))
        #expect(!sender.matches(""))
    }

    @Test func onlyTheDestinationRepliesToACall() {
        #expect(ExpectedSender.mayReply(":1.7", callTo: ":1.7", isError: false))
        #expect(!ExpectedSender.mayReply(":1.8", callTo: ":1.7", isError: false))
        #expect(!ExpectedSender.mayReply(":1.8", callTo: ":1.7", isError: true))
        #expect(ExpectedSender.mayReply("org.freedesktop.DBus", callTo: "org.freedesktop.DBus", isError: false))
        #expect(!ExpectedSender.mayReply(":1.8", callTo: "org.freedesktop.DBus", isError: false))
    }

    /// The bus says so when the destination is gone.
    @Test func theBusRepliesForOthersWithErrorsOnly() {
        #expect(ExpectedSender.mayReply("org.freedesktop.DBus", callTo: ":1.7", isError: true))
        #expect(!ExpectedSender.mayReply("org.freedesktop.DBus", callTo: ":1.7", isError: false))
    }
}
