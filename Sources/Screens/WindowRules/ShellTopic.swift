public import Routing

/// The topic at which an interactive shell reports the end of its commands, and which is held while its pane is looked
/// at:
/// `/shell/HOST/PANE`.
public struct ShellTopic: Equatable, Sendable {
    /// Where a shell runs.
    public enum Pane: Equatable, Sendable {
        /// A pane of tmux: the process id of the server, and the number of the pane, without its `%`.
        case tmux(server: UInt32, pane: UInt32)
        /// A window of an X server, as `$WINDOWID` says it.
        case window(UInt64)
        /// Another terminal, by its device, such as `pts/3`.
        case terminal(String)

        var segment: String {
            switch self {
            case .tmux(let server, let pane): "tmux-\(server)-\(pane)"
            case .window(let number): String(number)
            case .terminal(let name): ShellTopic.segment(name, or: "terminal")
            }
        }
    }

    public let topic: Topic

    /// - Parameter host: the name of the machine; what a topic cannot have becomes a `-`.
    public init(host: String, pane: Pane) {
        let text = "/shell/" + Self.segment(host, or: "localhost") + "/" + pane.segment
        do throws(TopicError) { topic = try Topic(text) } catch {
            fatalError("A segment of plain ASCII is in no topic: \(error)")
        }
    }

    /// The longest that is taken of a name; a segment has at most 64 bytes.
    private static let longest = 64

    private static func segment(_ name: String, or other: String) -> String {
        let bytes = name.utf8.prefix(longest).map { isPlain($0) ? $0 : UInt8(ascii: "-") }
        return bytes.isEmpty ? other : String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
