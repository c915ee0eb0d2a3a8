import NotifyText
import Routing

/// The texts of one route; what is absent is taken from the event.
struct BannerTemplates: BannerWording {
    var title: TextTemplate?
    var body: TextTemplate?

    /// How many tags they have.
    var tags: Int { (title?.tags ?? 0) + (body?.tags ?? 0) }

    var mentionsCount: Bool { title?.mentionsCount ?? false || body?.mentionsCount ?? false }

    func text(of event: Event, count: Int) -> (title: String?, body: String?) {
        let values = Self.values(of: event, count: count)
        return (title?.render(values), body?.render(values))
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
