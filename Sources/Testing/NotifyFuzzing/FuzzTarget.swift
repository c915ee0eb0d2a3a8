/// Something that reads what others wrote, with what has to hold whatever they wrote.
///
/// A body is given the bytes of a fuzzer. It returns when all is well, and traps when not: that is how a fuzzer
/// notices. The same bodies are run by the tests, on the inputs that are kept in `Tests/Fuzzing`.
public struct FuzzTarget: Sendable {
    /// The name of its folder of inputs, and of its program in `Tests/Fuzzing`.
    public let name: String
    public let body: @Sendable ([UInt8]) -> Void

    public static let all = [
        FuzzTarget(name: "Publish", body: fuzzPublish),
        FuzzTarget(name: "Topic", body: fuzzTopic),
        FuzzTarget(name: "Configuration", body: fuzzConfiguration),
        FuzzTarget(name: "Record", body: fuzzRecord),
        FuzzTarget(name: "Frame", body: fuzzFrame),
        FuzzTarget(name: "Text", body: fuzzText),
        FuzzTarget(name: "Reply", body: fuzzReply),
        FuzzTarget(name: "LinkMessage", body: fuzzLinkMessage),
        FuzzTarget(name: "Map", body: fuzzMap),
        FuzzTarget(name: "Tab", body: fuzzTab),
        FuzzTarget(name: "Window", body: fuzzWindow),
        FuzzTarget(name: "Push", body: fuzzPush),
        FuzzTarget(name: "Ntfy", body: fuzzNtfy),
    ]
}
