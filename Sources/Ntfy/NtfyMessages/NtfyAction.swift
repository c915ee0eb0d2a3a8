import NotifyJSON

/// A button of a message; [ntfy, "Action buttons"](https://docs.ntfy.sh/publish/#action-buttons).
public struct NtfyAction: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// Opens an address.
        case view(url: String)
        /// Makes a request.
        case http(url: String, method: String, headers: [(name: String, value: String)], body: String)
        /// Puts a text on the clipboard.
        case copy(value: String)
        /// For programs on Android alone.
        case broadcast
        /// Of a later version.
        case unknown

        public static func == (left: Kind, right: Kind) -> Bool {
            switch (left, right) {
            case (.view(let left), .view(let right)), (.copy(let left), .copy(let right)): left == right
            case (
                .http(let url, let method, let headers, let body), .http(let url2, let method2, let headers2, let body2)
            ):
                url == url2 && method == method2 && body == body2 && headers.elementsEqual(headers2) { $0 == $1 }
            case (.broadcast, .broadcast), (.unknown, .unknown): true
            default: false
            }
        }
    }

    public var label: String
    public var kind: Kind
    /// Whether the notification goes when the action has succeeded.
    public var clears: Bool

    static let maximumHeaders = 16

    public init(label: String, kind: Kind, clears: Bool = false) {
        self.label = label
        self.kind = kind
        self.clears = clears
    }

    init?(_ json: JSON) {
        guard let name = json["action"]?.string, let label = NtfyMessage.text(json["label"]) else { return nil }
        let url = NtfyMessage.text(json["url"]) ?? ""
        let kind: Kind
        switch name {
        case "view": kind = .view(url: url)
        case "http":
            let headers = (json["headers"]?.members ?? []).prefix(Self.maximumHeaders).compactMap { name, value in
                NtfyMessage.isName(name) ? NtfyMessage.text(value).map { (name: name, value: $0) } : nil
            }
            kind = .http(
                url: url, method: NtfyMessage.text(json["method"])?.uppercased() ?? "POST", headers: headers,
                body: NtfyMessage.text(json["body"]) ?? "")
        case "copy": kind = .copy(value: NtfyMessage.text(json["value"]) ?? "")
        case "broadcast": kind = .broadcast
        default: kind = .unknown
        }
        self.init(label: label, kind: kind, clears: json["clear"]?.boolean ?? false)
    }

    /// As it is kept in a field of the event, from which it is read again when the button is pressed.
    var json: JSON {
        var members: [JSON.Member] = [("label", .string(label)), ("clear", .boolean(clears))]
        switch kind {
        case .view(let url): members += [("action", .string("view")), ("url", .string(url))]
        case .http(let url, let method, let headers, let body):
            members += [
                ("action", .string("http")), ("url", .string(url)), ("method", .string(method)),
                ("headers", .object(headers.map { ($0.name, .string($0.value)) })), ("body", .string(body)),
            ]
        case .copy(let value): members += [("action", .string("copy")), ("value", .string(value))]
        case .broadcast: members.append(("action", .string("broadcast")))
        case .unknown: members.append(("action", .string("unknown")))
        }
        return .object(members)
    }

    /// The text of the field.
    public static func text(of actions: [NtfyAction]) -> String { JSON.array(actions.map(\.json)).text() }

    /// Reads the text of the field; nothing of what is not understood.
    public static func list(from text: String) -> [NtfyAction?] {
        guard let json = try? JSONParser.parse(Array(text.utf8), valueLimit: 4096) else { return [] }
        return (json.elements ?? []).prefix(NtfyMessage.maximumActions).map(NtfyAction.init)
    }
}
