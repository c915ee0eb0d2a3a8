import Crypto
import NotifyText

/// The sequence id under which an event goes out: made of its global name, so that the same event has the same one on
/// every device and after every restart, and a repeat is an update in place.
public enum SequenceName {
    /// By this a message is told that a bridge like this one has sent.
    public static let prefix = "notifyd-"

    /// 51 characters of [-_A-Za-z0-9]. Who reads the topic does not learn the name.
    public static func make(source: String, eventID: String) -> String {
        let digest = SHA256.hash(data: Array(source.utf8) + [0] + Array(eventID.utf8))
        let text = Base64.encode(Array(digest)).compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        }
        return prefix + String(text)
    }

    /// Whether a message with this sequence id was sent by a bridge like this one.
    public static func isOwn(_ sequence: String) -> Bool { sequence.hasPrefix(prefix) }
}
