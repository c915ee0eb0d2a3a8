import LinkSettings
import NotifyJSON
import NotifyText

/// What another device needs to join the link, on one line: `notifyd-link:` and JSON in Base64. It holds the secrets of
/// the link.
struct Invitation: Equatable {
    var server: LinkSettings.Server
    var user: String
    var password: String?
    /// The key that seals the link.
    var key: [UInt8]?

    private static let scheme = "notifyd-link:"
    private static let version = 1
    /// The longest line that is read, in bytes.
    static let longestLine = 8192

    init(server: LinkSettings.Server, user: String, password: String?, key: [UInt8]?) {
        self.server = server
        self.user = user
        self.password = password
        self.key = key
    }

    var line: String {
        let members = JSON.present([
            ("v", .integer(Self.version)), ("server", .string(server.description)), ("user", .string(user)),
            ("password", password.map(JSON.string)), ("key", key.map { .string(Base64.encode($0)) }),
        ])
        return Self.scheme + Base64.encode(JSON.object(members).bytes)
    }

    /// Reads a line. White space around it, and line breaks inside it, are from copying.
    init(line: String) throws(InvitationError) {
        let text = String(line.unicodeScalars.filter { !$0.properties.isWhitespace })
        guard text.hasPrefix(Self.scheme) else {
            throw InvitationError(
                "This is no invitation; it begins with “\(Self.scheme)”, as “notifyctl link pair” prints it.")
        }
        guard let bytes = Base64.decode(String(text.dropFirst(Self.scheme.count))) else {
            throw InvitationError("The invitation is not whole. Copy the line from its beginning to its end.")
        }
        let json: JSON
        do throws(JSONError) { json = try JSONParser.parse(bytes) } catch {
            throw InvitationError("The invitation is damaged: \(error). Copy the line again.")
        }
        let version: Int? = json["v"]?.integer()
        guard version == Self.version else {
            throw InvitationError("The invitation is from a newer notifyctl. Install that version here too.")
        }
        guard let server = json["server"]?.string.flatMap(LinkSettings.Server.init), let user = json["user"]?.string,
            !user.isEmpty
        else { throw InvitationError("The invitation names no broker or no user. Make a new one.") }
        var key: [UInt8]?
        if let text = json["key"] {
            key = text.string.flatMap(Base64.decode)
            guard key?.count == LinkKey.count else {
                throw InvitationError("The key in the invitation has not \(LinkKey.count) bytes. Make a new one.")
            }
        }
        self.init(server: server, user: user, password: json["password"]?.string, key: key)
    }
}

/// What is wrong with a line, and what would be right.
struct InvitationError: Error, Equatable {
    let advice: String

    init(_ advice: String) { self.advice = advice }
}
