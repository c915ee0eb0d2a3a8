import Routing
import Testing

@testable import Watching

@Suite struct ShellTopicTests {
    @Test(
        arguments: [
            ("lab", ShellTopic.Pane.tmux(server: 4711, pane: 3), "/shell/lab/tmux-4711-3"),
            ("lab.example.org", .window(29_360_131), "/shell/lab.example.org/29360131"),
            ("lab", .terminal("pts/3"), "/shell/lab/pts-3"), ("lab", .terminal(""), "/shell/lab/terminal"),
            ("", .terminal("tty1"), "/shell/localhost/tty1"), ("a b'{}*\\/é", .window(1), "/shell/a-b--------/1"),
        ]) func aPaneHasATopic(_ host: String, _ pane: ShellTopic.Pane, _ topic: String) throws
    {
        #expect(ShellTopic(host: host, pane: pane).topic == (try Topic(topic)))
    }

    @Test func aLongNameIsCut() {
        let topic = ShellTopic(
            host: String(repeating: "é", count: 300), pane: .terminal(String(repeating: "x", count: 300)))
        #expect(topic.topic.segments.map(\.utf8.count) == [5, 64, 64])
    }
}
