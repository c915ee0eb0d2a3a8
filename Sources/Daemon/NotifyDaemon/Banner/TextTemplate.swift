import Mustache
package import NotifyText
import Routing

/// A mustache template for a banner's text. It does not escape: that happens once, depending on the notification
/// server's capabilities.
package struct TextTemplate: Sendable {
    /// Why a text is not a template.
    package struct Mistake: Error {
        /// At least one.
        package let reasons: [String]

        fileprivate init(_ reasons: [String]) { self.reasons = reasons }
        fileprivate init(reason: String) { self.init([reason]) }
    }

    /// Bytes of a template. The library's run time is proportional to bytes times tags.
    static let maximumBytes = 4096
    static let maximumTags = 256
    /// Sections within each other.
    static let maximumDepth = 16
    /// Bytes within the braces.
    static let maximumTagBytes = 256

    private let template: MustacheTemplate
    /// As it was written.
    let source: String
    /// How many tags it has.
    let tags: Int
    /// Whether the template uses `count`.
    let mentionsCount: Bool
    /// Whether the template has a section for each of several events.
    let listsEvents: Bool

    /// - Parameter names: names that always have a value, beside `title`, `body`, `topic` and `count`; `nil` if they
    ///   are not known. Any other name may be absent, and is only allowed inside its own section,
    ///   `{{#distance}}…{{/distance}}`.
    package init(_ text: String, names: Set<ByteString>?) throws(Mistake) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw Mistake(reason: "it has \(text.utf8.count) bytes; a template has at most \(Self.maximumBytes)")
        }
        let tags = TemplateTags(text)
        if let excess = tags.excess { throw Mistake(reason: excess) }
        self.tags = tags.count
        var reasons: [String] = []
        if let partial = tags.partial {
            reasons.append(
                "{{\(partial)}} stands for another template, and a route has none; write its text "
                    + "here, or {{name}} for a value"
            )
        }
        var template: MustacheTemplate?
        do {
            template = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
        } catch let error as MustacheTemplate.ParserError {
            let words = Self.words(for: error.error, tags)
            reasons.append("\(words) (in line \(error.context.lineNumber) of the template)")
        } catch {
            reasons.append(Self.words(for: error, tags))
        }
        if let names { reasons += Self.absences(in: tags, known: names.union(["title", "body", "topic", "count"])) }
        guard let template, reasons.isEmpty else { throw Mistake(reasons) }
        self.template = template
        source = text
        mentionsCount = tags.all.contains("count")
        listsEvents = tags.all.contains("events")
    }

    /// A reason for each name that may be absent.
    private static func absences(in tags: TemplateTags, known: Set<ByteString>) -> [String] {
        var told = known
        return tags.unguarded.filter { told.insert($0.bytes).inserted }.map { name in
            "{{\(name)}} may be absent; require the field, or write {{#\(name)}}…{{/\(name)}} around it "
                + "(always there: \(known.sorted().map(\.description).joined(separator: ", ")))"
        }
    }

    /// The library's errors, for authors of templates.
    private static func words(for error: any Error, _ tags: TemplateTags) -> String {
        switch (error as? MustacheTemplate.Error, tags.strayEnd) {
        case (.sectionCloseNameIncorrect, let (end, open?)?):
            "a section is closed that is not the one opened last: {{/\(end)}} comes before {{/\(open)}}"
        case (.sectionCloseNameIncorrect, let (end, nil)?): "{{/\(end)}} closes a section that was not opened"
        case (.sectionCloseNameIncorrect, nil): "a section is closed that is not the one opened last"
        case (.expectedSectionEnd, _):
            "a section is not closed"
                + (tags.openSection.map { ": {{\($0.sign)\($0.name)}} ends with {{/\($0.name)}}" } ?? "")
        default: "it is not a template; names are written like {{title}}"
        }
    }

    /// - Parameter events: the values of each event, for `{{#events}}`.
    package func render(_ values: [ByteString: String], events: [[ByteString: String]] = []) -> String {
        template.render(TemplateValues(values: values, events: events))
    }
}

/// The names a template uses, those it uses outside of a section of the same name, and its first partial, which would
/// render as nothing.
private struct TemplateTags {
    private(set) var count = 0
    /// Why the library would need too much time or stack, or other names than these would be used.
    private(set) var excess: String?
    private(set) var all: Set<ByteString> = []
    private(set) var unguarded: [String] = []
    private(set) var partial: String?
    /// The first end of a section that is not open, or not the one that was opened last, and the name of that one.
    private(set) var strayEnd: (end: String, open: String?)?
    /// The section that was opened last of those that are not closed.
    private(set) var openSection: (sign: Character, name: String)?

    init(_ text: String) {
        var sections: [(sign: Character, name: String)] = []
        var depth = 0
        var rest = text[...]
        while let open = rest.firstRange(of: "{{"), let close = rest[open.upperBound...].firstRange(of: "}}") {
            let tag = rest[open.upperBound..<close.lowerBound].drop { $0 == "{" || $0 == " " }
            rest = rest[close.upperBound...]
            count += 1
            if let sign = tag.first, "#^$<".contains(sign) { depth += 1 }
            if tag.first == "/" { depth -= 1 }
            excess = excess ?? Self.excess(of: tag, depth: depth)
            let name = String(tag.drop { "#^/&!% ".contains($0) }.prefix { $0 != " " && $0 != "}" })
            switch tag.first {
            case "!", "%": continue
            case ">", "<": partial = partial ?? tag.filter { $0 != " " }
            case "/":
                let open = sections.popLast()?.name
                let end = String(name.drop { $0 == "/" })
                if end.bytes != open?.bytes, strayEnd == nil { strayEnd = (end, open) }
            case "#"?, "^"?:
                all.insert(name.bytes)
                sections.append((tag.first ?? "#", name))
            default:
                all.insert(name.bytes)
                if !sections.contains(where: { $0.name.bytes == name.bytes }) { unguarded.append(name) }
            }
        }
        openSection = sections.last
        guard excess == nil, count > TextTemplate.maximumTags else { return }
        excess = "it has \(count) tags; a template has at most \(TextTemplate.maximumTags)"
    }

    private static func excess(of tag: Substring, depth: Int) -> String? {
        let bytes = tag.utf8.count
        if tag.first == "=" { return "the braces of a template cannot be changed" }
        if bytes > TextTemplate.maximumTagBytes {
            return "a tag has \(bytes) bytes; one has at most \(TextTemplate.maximumTagBytes)"
        }
        guard depth > TextTemplate.maximumDepth else { return nil }
        return "sections are at most \(TextTemplate.maximumDepth) deep within each other"
    }
}

/// What a template names, found by the bytes of the name.
private struct TemplateValues: MustacheParent {
    let values: [ByteString: String]
    let events: [[ByteString: String]]

    func child(named name: String) -> Any? {
        name.bytes == "events" ? events.map(EventValues.init) : values[name.bytes]
    }
}

/// The values of one of several events.
private struct EventValues: MustacheParent {
    let values: [ByteString: String]

    /// A name without a value does not stand for the value of the newest event.
    func child(named name: String) -> Any? {
        if let value = values[name.bytes] { return value }
        return name.bytes == "count" ? nil : Absent()
    }

    private struct Absent: MustacheCustomRenderable {
        var renderText: String { "" }
        var isNull: Bool { true }
    }
}

/// The templates of one route; an absent one is replaced by the event's text.
struct BannerTemplates: BannerWording {
    var title: TextTemplate?
    var body: TextTemplate?

    var tags: Int { (title?.tags ?? 0) + (body?.tags ?? 0) }

    var mentionsCount: Bool { title?.mentionsCount ?? false || body?.mentionsCount ?? false }

    var listsEvents: Bool { title?.listsEvents ?? false || body?.listsEvents ?? false }

    func text(of event: Event, others: [Event], count: Int) -> (title: String?, body: String?) {
        var values = Self.values(of: event)
        let events = listsEvents ? [values] + others.map(Self.values) : []
        values["count"] = "\(count)"
        return (title?.render(values, events: events), body?.render(values, events: events))
    }

    /// The values for a template. Title and body override captures, which override fields. An empty text counts as
    /// absent, so that `{{^body}}…{{/body}}` works.
    private static func values(of event: Event) -> [ByteString: String] {
        var values: [ByteString: String] = [:]
        for field in event.fields { values[field.name.bytes] = field.value.text }
        for capture in event.route.pattern?.captures(of: event.topic) ?? [] {
            values[capture.name.bytes] = capture.value
        }
        values["title"] = event.title.isEmpty ? nil : event.title
        values["body"] = event.body.isEmpty ? nil : event.body
        values["topic"] = event.topic.description
        return values
    }
}
