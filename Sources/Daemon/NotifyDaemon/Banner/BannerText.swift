import NotifyText
package import Routing

/// The text of a banner, without markup.
package struct BannerText: Equatable {
    package var title: String
    package var body: String
}

extension BannerText {
    /// Characters per event in a banner of several events.
    private static let lineLength = 120

    package init(_ request: BannerRequest) {
        self.init(
            request.newest, others: request.isSummary ? [] : request.others,
            count: request.isSummary ? 1 : request.count)
        if request.isSummary {
            body = "The newest: \(title)"
            title = "\(request.count) notifications"
        } else if request.count > 1, request.newest.route.wording?.mentionsCount != true {
            title += " (\(request.count))"
            guard request.newest.route.wording?.listsEvents != true else { return }
            if let lines = Self.lines([request.newest] + request.others) { body = lines }
        }
    }

    /// What a banner of this event alone says, without characters that change how the rest is displayed.
    package init(ofAlone event: Event) {
        let text = BannerText(event, others: [], count: 1)
        title = SafeText.cleaned(text.title, lineBreaks: false)
        body = SafeText.cleaned(text.body, lineBreaks: true)
    }

    /// The text of a banner of one event.
    private init(_ event: Event, others: [Event], count: Int) {
        let plain = event.title.isEmpty ? "News at \(event.topic)" : event.title
        let text = event.route.wording?.text(of: event, others: others, count: count)
        // A template may render empty without its fields, and a banner needs a title.
        title = text?.title.flatMap { $0.isEmpty ? nil : $0 } ?? plain
        body = text?.body ?? event.body
    }

    /// One line per event, if their titles differ: the title of the newest event does not describe the others.
    /// Otherwise one line for each of their bodies.
    private static func lines(_ events: [Event]) -> String? {
        let texts = events.map { BannerText($0, others: [], count: 1) }
        if texts.contains(where: { $0.title.bytes != texts[0].title.bytes }) {
            return texts.map { line($0.body.isEmpty ? $0.title : "\($0.title): \($0.body)") }.joined(separator: "\n")
        }
        guard texts.contains(where: { $0.body.bytes != texts[0].body.bytes }) else { return nil }
        return texts.filter { !$0.body.isEmpty }.map { line($0.body) }.joined(separator: "\n")
    }

    private static func line(_ text: String) -> String {
        let text = SafeText.cleaned(text, lineBreaks: false)
        let start = text.prefix(lineLength)
        return start.endIndex == text.endIndex ? text : "\(start)…"
    }
}

extension Appearance {
    /// With texts as the title of a banner: without characters that change how the rest is displayed. Keys of buttons
    /// have none, and paths are names of files.
    package var cleaned: Appearance {
        func clean(_ text: String?) -> String? {
            guard let text, !text.hasPrefix("/") else { return text }
            let cleaned = SafeText.cleaned(text, lineBreaks: false)
            return cleaned.isEmpty ? nil : cleaned
        }
        var result = self
        result.app = clean(app)
        result.icon = clean(icon) ?? ""
        result.image = clean(image)
        result.category = clean(category)
        result.sound = clean(sound)
        result.desktopEntry = clean(desktopEntry)
        result.actions = actions.map { $0.labelled(clean($0.label) ?? $0.key) }
        return result
    }
}

/// Makes text fit for a notification server.
package enum SafeText {
    /// Removes characters that change how the rest is displayed, and those that D-Bus forbids. A line break is kept in
    /// a body and becomes a space in a title.
    package static func cleaned(_ text: String, lineBreaks: Bool) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A where lineBreaks: result.append(scalar)
            case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: result.append(" ")
            default: if !scalar.isActive, !scalar.isForInternalUse { result.append(scalar) }
            }
        }
        return String(result)
    }
}
