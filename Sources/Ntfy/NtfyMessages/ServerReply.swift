import Mapping
import NotifyJSON
import NotifyText

/// Tells what a server of ntfy says from what somebody else says in its place, such as the login page of a hotel's
/// network, which answers every request with 200.
///
/// ntfy answers a publish, a clear and a delete with the message that it has made, and an error with its number;
/// `server/server.go` and
/// `server/errors.go` of ntfy 2.19.
public enum ServerReply {
    /// What is shown of an answer that is none of ntfy.
    private static let maximumShown = 60
    private static let shownMembers = 3

    /// What is wrong with the answer to a request.
    ///
    /// - Parameters:
    ///   - body: the whole answer.
    ///   - type: its `Content-Type`; empty if it has none.
    ///   - event: what the request has asked the server to make.
    ///   - topic: where.
    /// - Returns: a sentence without anything of an event; `nil` if the server has made it.
    public static func mistake(
        in body: [UInt8], type: String, to event: NtfyMessage.Event, of topic: String
    ) -> String? {
        guard let message = try? NtfyMessage(line: body) else {
            return "it answers with something else than ntfy does (\(description(of: body, type: type)))"
        }
        guard message.event == event, message.topic.utf8.elementsEqual(topic.utf8) else {
            return "it answers with another message than the one that it was asked to make"
        }
        return nil
    }

    /// Whether a line is one of ntfy, also of a later version, or one that is no good in itself.
    public static func isLine(_ line: [UInt8]) -> Bool {
        guard let json = try? JSONParser.parse(line) else { return false }
        return ["id", "event", "topic"].allSatisfy { json[$0]?.string != nil }
    }

    /// Whether the body of a refusal was written by ntfy.
    public static func isError(_ body: [UInt8]) -> Bool {
        guard let json = try? JSONParser.parse(body) else { return false }
        return json["code"]?.integer(as: Int.self) != nil && json["error"]?.string != nil
    }

    /// What an answer is, for people: its type and how it begins. Of JSON only the names of some members are told, for
    /// their values may be those of an event.
    public static func description(of body: [UInt8], type: String) -> String {
        let kind = type.isEmpty ? "no Content-Type" : short(type)
        if body.isEmpty { return "\(kind), empty" }
        if let json = try? JSONParser.parse(body) {
            guard let members = json.members, !members.isEmpty else { return "\(kind), JSON without a message" }
            let names = members.prefix(shownMembers).map { "\"\(short($0.0))\"" }
            return "\(kind), JSON with \(names.joined(separator: ", "))"
        }
        let text = String(decoding: body.prefix(4 * maximumShown), as: UTF8.self)
        return "\(kind), it begins with \"\(short(text))\""
    }

    private static func short(_ text: String) -> String { text.visible().beginning(ofBytes: maximumShown) }
}
