import NotifyText
package import Routing

/// The words of a banner, as plain text.
package struct BannerText: Equatable {
    package var title: String
    package var body: String
}

extension BannerText {
    /// - Parameter templates: those of the newest event's route.
    package init(_ request: BannerRequest, templates: BannerTemplates?) {
        self.init(newest: request.newest, count: request.isSummary ? 1 : request.count, templates: templates)
        if request.isSummary {
            body = "The newest: \(title)"
            title = "\(request.count) notifications"
        }
    }

    private init(newest event: Event, count: Int, templates: BannerTemplates?) {
        let values = Self.values(of: event, count: count)
        let plain = event.title.isEmpty ? "News at \(event.topic)" : event.title
        let rendered = templates?.title?.render(values) ?? plain
        // A template may come out empty for want of its fields; a banner without a title is none.
        title = rendered.isEmpty ? plain : rendered
        body = templates?.body?.render(values) ?? event.body
        let mentionsCount = templates?.title?.mentionsCount ?? false || templates?.body?.mentionsCount ?? false
        if count > 1, !mentionsCount { title += " (\(count))" }
    }

    /// What a template can name. The event's own words win over its captures, and those over its fields; what is empty
    /// counts as absent, so that `{{^body}}…{{/body}}` can stand in for it.
    private static func values(of event: Event, count: Int) -> [ByteString: String] {
        var values: [ByteString: String] = [:]
        for field in event.fields { values[field.name.bytes] = field.value.text }
        for capture in event.route.pattern?.captures(of: event.topic) ?? [] {
            values[capture.name.bytes] = capture.value
        }
        values["title"] = event.title.isEmpty ? nil : event.title
        values["body"] = event.body.isEmpty ? nil : event.body
        values["topic"] = event.topic.description
        values["count"] = "\(count)"
        return values
    }
}

/// Makes text fit for a notification server.
package enum SafeText {
    /// Without what could change how the rest reads: control characters, and the marks that turn the direction of writing.
    /// A line break stays one in a body and becomes a space in a title.
    package static func cleaned(_ text: String, lineBreaks: Bool) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A where lineBreaks: result.append(scalar)
            case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: result.append(" ")
            case 0x00...0x1F, 0x7F...0x9F: continue
            case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: continue
            default: if !scalar.isForInternalUse { result.append(scalar) }
            }
        }
        return String(result)
    }

    /// As text within the markup of the Desktop Notifications Specification.
    package static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
