import Testing

@testable import NotifyDaemon

struct UnreadRepliesTests {
    private var unread = UnreadReplies()

    @Test mutating func whoGetsLittleIsNeverAsked() {
        #expect(unread.sent(UnreadReplies.askAbove, to: ":1.1") == false)
        #expect(!unread.mustWait(":1.1"))
    }

    @Test mutating func whoDoesNotAnswerWaitsAboveTheLimitAndNobodyElseDoes() {
        #expect(unread.sent(UnreadReplies.limit, to: ":1.1") == true)
        #expect(!unread.mustWait(":1.1"))
        // It is asked once.
        #expect(unread.sent(1, to: ":1.1") == false)
        #expect(unread.mustWait(":1.1") && !unread.mustWait(":1.2"))
        unread.remove(":1.1")
        #expect(!unread.mustWait(":1.1"))
    }

    @Test mutating func anAnswerIsForWhatWasSentBeforeTheQuestion() {
        #expect(unread.sent(UnreadReplies.limit, to: ":1.1") == true)
        #expect(unread.sent(UnreadReplies.limit + 1, to: ":1.1") == false)
        // What is left is asked about again.
        #expect(unread.answered(":1.1") == true)
        #expect(unread.mustWait(":1.1"))
        #expect(unread.answered(":1.1") == false)
        #expect(!unread.mustWait(":1.1"))
    }
}
