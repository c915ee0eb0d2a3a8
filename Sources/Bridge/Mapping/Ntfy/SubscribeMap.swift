public import NotifyText

/// Takes messages of a server in as events; notifyd-ntfy.toml(5).
public struct SubscribeMap: Equatable, Sendable {
    /// The topics at the server.
    public var names: [String]
    /// Where they go to; the capture `{name}` is the topic at the server.
    public var topic: TopicPattern
    /// `nil`: the emoji of the tags, and the title of the message, or the topic at the server if it has none.
    public var title: MessageTemplate?
    /// `nil`: the message.
    public var body: MessageTemplate?
    /// Where a message has no urgency by these, it has one by its priority.
    public var rules = MapRules()
    /// Whether a claim here is said there.
    public var clears = true
    /// Whether icons and pictures are fetched.
    public var hasImages = false
    /// Whether a button may make a request.
    public var makesRequests = true

    public init(names: [String], topic: TopicPattern) { (self.names, self.topic) = (names, topic) }

    /// The capture that a topic may have.
    public static let capture = "name"
    /// What texts can name.
    public static let names = [
        "name", "id", "title", "message", "emoji", "tags", "priority", "time", "click", "attachment.name",
        "attachment.url",
    ]
    /// The message, if it is a JSON object, with whatever is in it.
    public static let openName = "json"

    /// The names in a text that no message has.
    public static func unknownNames(in text: MessageTemplate) -> [String] {
        text.unknownNames(known: names, open: [openName])
    }

    /// The members that no message has, as they are written.
    public static func unknown(_ members: [MapRules.Member]) -> [String] {
        members.filter { $0.first != openName }.map { $0.joined(separator: ".") }.filter { !names.contains($0) }
    }

    /// The longest field that is kept whole, in bytes.
    private static let maximumField = 4096

    /// What becomes of a message.
    ///
    /// - Returns: `nil` if it is left out.
    /// - Throws: `MapError` if no event can be made of it.
    public func eventUnlessLeftOut(_ message: NtfyMessage) throws(MapError) -> NtfyEvent? {
        rules == MapRules() || rules.takes(values(of: message, Self.emoji(of: message), tags: message.tags))
            ? try event(of: message) : nil
    }

    /// What becomes of a message that is not left out.
    ///
    /// - Throws: `MapError` if no event can be made of it.
    public func event(of message: NtfyMessage) throws(MapError) -> NtfyEvent {
        let emoji = Self.emoji(of: message)
        let usualTitle = [emoji, message.title.isEmpty ? message.topic : message.title]
            .filter { !$0.isEmpty }.joined(separator: " ")
        var event = NtfyEvent(topic: try place(message.topic), message: message)
        let words = message.tags.filter { EmojiTable.emoji(of: $0) == nil }
        let values = title == nil && body == nil ? JSON.null : values(of: message, emoji, tags: words)
        let usualBody = Self.usualBody(message)
        event.title = try (title?.render(values, or: usualTitle) ?? usualTitle).deliverable
            .beginning(ofBytes: MappedEvent.maximumTitle)
        event.body = try (body?.render(values, or: usualBody) ?? usualBody).deliverable
            .beginning(ofBytes: MappedEvent.maximumBody)
        if event.title.isBlank, event.body.isBlank {
            event.title = usualTitle.beginning(ofBytes: MappedEvent.maximumTitle)
        }
        event.urgency = Self.urgency(of: message.priority)
        if rules != MapRules() {
            let values = self.values(of: message, emoji, tags: message.tags)
            event.urgency = try rules.urgency(of: values) ?? event.urgency
            event.isSilent = rules.isSilent(values)
            if let collapse = rules.collapse(of: values)?.deliverable, !collapse.isEmpty { event.collapse = collapse }
        }
        event.fields = Self.fields(of: message)
        event.buttons = buttons(of: message)
        return event
    }

    /// What the priorities of ntfy are here: low for 1 and 2, critical for 5.
    static func urgency(of priority: Int) -> UInt8 {
        switch priority {
        case ...2: 0
        case 5...: 2
        default: 1
        }
    }

    private static func emoji(of message: NtfyMessage) -> String {
        message.tags.compactMap(EmojiTable.emoji).joined(separator: " ")
    }

    private static func usualBody(_ message: NtfyMessage) -> String {
        message.isBinary ? "(a message that is not text)" : message.text
    }

    /// Where the messages of a topic at the server go to.
    public func place(_ name: String) throws(MapError) -> Topic {
        do throws(TopicError) {
            return try topic.filled(with: [Self.capture: name])
        } catch {
            throw MapError(error.reason)
        }
    }

    /// What texts can name. The message is also there as JSON, if it is a JSON object.
    private func values(of message: NtfyMessage, _ emoji: String, tags: [String]) -> JSON {
        var json: JSON?
        if [title?.names, body?.names, rules.names].contains(where: { $0?.contains(Self.openName) == true }) {
            json = try? JSONParser.parse(Array(message.text.utf8), valueLimit: 4096)
        }
        return .object(present: [
            "name": message.topic, "id": message.id, "title": message.title, "message": Self.usualBody(message),
            "emoji": emoji, "tags": tags, "priority": message.priority, "time": message.time, "click": message.click,
            "attachment": message.attachment.map { ["name": $0.name, "url": $0.url] as JSON },
            Self.openName: json?.members == nil ? nil : json,
        ])
    }

    private static func fields(of message: NtfyMessage) -> Fields {
        func short(_ text: String) -> Value { .string(text.beginning(ofBytes: maximumField)) }
        var fields: Fields = [
            NtfyEvent.topicField: .string(message.topic), "priority": .int64(Int64(message.priority)),
        ]
        if !message.tags.isEmpty { fields["tags"] = .strings(message.tags.map { $0.beginning(ofBytes: 256) }) }
        fields[NtfyEvent.clickField] = message.click.map(short)
        fields["icon-url"] = message.icon.map(short)
        if let file = message.attachment {
            fields["attachment-name"] = short(file.name)
            fields[NtfyEvent.attachmentField] = short(file.url)
            fields["attachment-type"] = file.type.map(short)
            fields["attachment-size"] = file.size.map(Value.int64)
        }
        let actions = NtfyAction.text(of: message.actions)
        if !message.actions.isEmpty, actions.utf8.count <= NtfyEvent.maximumActions {
            fields[NtfyEvent.actionsField] = .string(actions)
        }
        return fields
    }

    private func buttons(of message: NtfyMessage) -> [(key: String, label: String)] {
        var buttons: [(key: String, label: String)] = []
        if OpenableAddress.isOpenable(message.click ?? "") {
            buttons += [("default", "Open"), (NtfyEvent.openKey, "Open")]
        }
        if OpenableAddress.isOpenable(message.attachment?.url ?? "") {
            buttons.append((NtfyEvent.attachmentKey, "Open file"))
        }
        guard NtfyAction.text(of: message.actions).utf8.count <= NtfyEvent.maximumActions else { return buttons }
        for (index, action) in message.actions.enumerated() {
            let label = action.label.beginning(ofBytes: 200)
            let shown: String? =
                switch action.kind {
                case .view(let url): OpenableAddress.isOpenable(url) ? label : nil
                case .http: makesRequests ? label : nil
                case .copy: label
                case .broadcast, .unknown: label + " (not supported here)"
                }
            if let shown { buttons.append((NtfyEvent.actionKey(index), shown)) }
        }
        return buttons
    }
}

/// An event made of a message.
public struct NtfyEvent: Sendable {
    public var topic: Topic
    public var title = ""
    public var body = ""
    public var urgency: UInt8 = 1
    public var fields = Fields()
    public var buttons: [(key: String, label: String)] = []
    /// Half of its global name.
    public var eventID: String
    /// An update takes the place of what it updates.
    public var collapse: String
    /// Whether it has no banner.
    public var isSilent = false
    /// Microseconds since the epoch.
    public var published: Int64

    init(topic: Topic, message: NtfyMessage) {
        self.topic = topic
        eventID = Self.eventID(id: message.id, sequence: message.sequence)
        collapse = "ntfy:" + message.sequence
        published = message.time * 1_000_000
    }

    // MARK: Names

    /// An event of a message: its id, and before it the sequence id if the publisher has given one. So a claim is said
    /// at the server without a table.
    public static func eventID(id: String, sequence: String) -> String {
        id == sequence ? id : sequence + "/" + id
    }

    /// The sequence id that an event was made with.
    public static func sequence(ofEventID eventID: String) -> String {
        eventID.firstIndex(of: "/").map { String(eventID[..<$0]) } ?? eventID
    }

    // MARK: Fields and buttons

    /// The field with the topic at the server.
    public static let topicField = "ntfy-topic"
    /// The field with the address that a click opens.
    public static let clickField = "click"
    /// The field with the address of the attachment.
    public static let attachmentField = "attachment-url"
    /// The field with the actions of the message, in JSON.
    public static let actionsField = "actions"
    /// The longest field with actions, in bytes.
    static let maximumActions = 16 << 10
    /// The button that opens what a click opens.
    public static let openKey = "ntfy-open"
    /// The button that opens the attachment.
    public static let attachmentKey = "ntfy-attachment"

    private static let actionPrefix = "ntfy-action-"

    /// The button of an action of the message.
    static func actionKey(_ index: Int) -> String { "\(actionPrefix)\(index)" }

    /// Which action of the message a button is.
    public static func actionIndex(ofKey key: String) -> Int? {
        key.hasPrefix(actionPrefix) ? Int(key.dropFirst(actionPrefix.count)).flatMap { $0 >= 0 ? $0 : nil } : nil
    }
}

/// The emoji of GitHub's shortcodes, which ntfy draws instead of a tag; [ntfy, "Emoji
/// reference"](https://docs.ntfy.sh/emojis/).
enum EmojiTable {
    /// - Returns: `nil` if the tag is a word.
    static func emoji(of tag: String) -> String? { table[tag[...]].map(String.init) }

    /// The names and the emoji of gemoji 4.1.
    private static let table: [Substring: Substring] = {
        var table: [Substring: Substring] = [:]
        let text = String(decoding: PackageResources.emoji_txt, as: UTF8.self)
        for entry in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            guard let sign = entry.firstIndex(of: "=") else { continue }
            table[entry[..<sign]] = entry[entry.index(after: sign)...]
        }
        return table
    }()
}
