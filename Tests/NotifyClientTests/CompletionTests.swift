import ArgumentParser
import Testing

@testable import notifyctl

struct CompletionTests {
    @Test func whatStandsAboveATopicIsOfferedOnce() {
        let topics = Topics(["/run/r1/mate/영희", "/run/r1", "/post/27", "/post/27"])
        #expect(topics.all == ["/post/27", "/run/r1", "/run/r1/mate/영희"])
        #expect(
            topics.withAncestors == ["/post", "/post/27", "/run", "/run/r1", "/run/r1/mate", "/run/r1/mate/영희"])
    }

    @Test(arguments: [
        "/a/$(reboot)", "/a/`reboot`", "/a/$HOME", "/a b", "/a;b", "/a&b", "/a|b", "/~", "/a\"b", "/#", "/a?", "/!!",
    ])
    func nothingIsOfferedThatAShellWouldActOn(_ topic: String) {
        #expect(Candidate(topic, for: .bash) == nil)
        #expect(Candidate(topic, for: .zsh) == nil)
    }

    @Test func eachShellHasItsWayToSayWhatAWordMeans() {
        #expect(Candidate("/post/27", "Title\nmore", for: .bash)?.text == "/post/27")
        #expect(Candidate("/a:b", "Title\nmore", for: .zsh)?.text == #"/a\:b:Title\nmore"#)
        #expect(Candidate("/a:b", "Title\tmore", for: .fish)?.text == "/a:b\tTitle\\tmore")
        #expect(Candidate("/run/영희/½", for: .fish)?.text == "/run/영희/½")
    }
}
