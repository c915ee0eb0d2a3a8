import Logging
import Testing

@testable import Systemd

struct LogTextTests {
    @Test func metadataBecomesFieldsThatTheJournalTakes() {
        #expect(LogText.journalField("event.id") == "NOTIFYD_EVENT_ID")
        #expect(LogText.journalField("topic") == "NOTIFYD_TOPIC")
        #expect(LogText.journalField("message.id") == "MESSAGE_ID")
    }

    @Test func theSentenceIsConstantAndTheDataFollowsInOrder() {
        let metadata: Logger.Metadata = ["topic": "/post/27", "event.id": "5", "message.id": "abc"]
        #expect(LogText.sentence("Event accepted", metadata) == "Event accepted: event.id=5 topic=/post/27")
        #expect(LogText.sentence("Started", [:]) == "Started")
    }

    /// A second line would be a record of its own, with a priority of its own.
    @Test func oneRecordIsOneLine() {
        let metadata: Logger.Metadata = ["error": "key “a\n<2>b\r\u{85}c\u{2028}d\u{1B}[31m” is unknown"]
        #expect(LogText.sentence("Bad\nnews", metadata) == "Bad news: error=key “a <2>b  c d [31m” is unknown")
    }

    @Test func levelsAreThePrioritiesOfSyslog() {
        #expect(LogText.priority(.debug) == 7)
        #expect(LogText.priority(.warning) == 4)
        #expect(LogText.priority(.critical) == 2)
    }
}
