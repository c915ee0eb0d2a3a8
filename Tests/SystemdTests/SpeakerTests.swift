import Testing

@testable import Systemd

/// Who may say what, by the sender that the bus has written.
struct SpeakerTests {
    @Test func onlyTheBusSpeaksAsTheBus() {
        #expect(Speaker.bus.isSender("org.freedesktop.DBus"))
        #expect(!Speaker.bus.isSender(":1.7"))
        #expect(!Speaker.bus.isSender(""))
    }

    @Test func onlyTheLibrarySpeaksOfItsConnection() {
        #expect(Speaker.library.isSender("org.freedesktop.DBus.Local"))
        #expect(!Speaker.library.isSender(":1.7"))
        #expect(!Speaker.library.isSender("org.freedesktop.DBus"))
    }

    @Test func onlyTheOwnerOfANameSpeaksForIt() {
        var owner: String? = ":1.7"
        let speaker = Speaker.owner(of: "org.example") { owner }
        #expect(speaker.isSender(":1.7"))
        #expect(!speaker.isSender(":1.8"))
        owner = nil
        #expect(!speaker.isSender(":1.7"))
        #expect(!speaker.isSender(""))
    }

    @Test func onlyTheDestinationAnswersACall() {
        #expect(Speaker.mayAnswer(":1.7", callTo: ":1.7", isError: false))
        #expect(!Speaker.mayAnswer(":1.8", callTo: ":1.7", isError: false))
        #expect(!Speaker.mayAnswer(":1.8", callTo: ":1.7", isError: true))
        #expect(Speaker.mayAnswer("org.freedesktop.DBus", callTo: "org.freedesktop.DBus", isError: false))
        #expect(!Speaker.mayAnswer(":1.8", callTo: "org.freedesktop.DBus", isError: false))
    }

    /// The bus says so when the destination is gone.
    @Test func theBusAnswersForOthersWithErrorsOnly() {
        #expect(Speaker.mayAnswer("org.freedesktop.DBus", callTo: ":1.7", isError: true))
        #expect(!Speaker.mayAnswer("org.freedesktop.DBus", callTo: ":1.7", isError: false))
    }
}
