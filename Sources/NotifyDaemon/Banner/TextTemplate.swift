import Mustache
package import NotifyText

/// A mustache template for a banner's text. Nothing in it is escaped: escaping happens once, when it is known whether the
/// notification server understands markup.
package struct TextTemplate: Sendable {
    /// Why a text is no template.
    package struct Mistake: Error {
        package let reason: String
    }

    /// Bytes of a template. The library takes time in proportion to these times the tags.
    static let maximumBytes = 4096
    static let maximumTags = 256
    /// Sections within each other.
    static let maximumDepth = 16
    /// Bytes of what is within the braces.
    static let maximumTagBytes = 256

    private let template: MustacheTemplate
    /// As it was written.
    let source: String
    /// How many tags it has.
    let tags: Int
    /// Whether the text says itself how many events it stands for.
    let mentionsCount: Bool

    /// - Parameter names: what the template may name beside `title`, `body`, `topic` and `count`. A name outside of
    ///   these is only allowed inside a section of its own, `{{#distance}}…{{/distance}}`, for it may be absent.
    package init(_ text: String, names: Set<ByteString>) throws(Mistake) {
        tags = try Self.checkSize(of: text)
        do {
            template = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
        } catch let error as MustacheTemplate.ParserError {
            throw Mistake(
                reason: "\(Self.words(for: error.error)) (in line \(error.context.lineNumber) of the template)")
        } catch {
            throw Mistake(reason: "\(error)")
        }
        source = text
        let tags = TemplateTags(text)
        let known = names.union(["title", "body", "topic", "count"])
        for name in tags.unguarded where !known.contains(name.bytes) {
            throw Mistake(
                reason: "{{\(name)}} may be absent; require the field, or write {{#\(name)}}…{{/\(name)}} around it "
                    + "(always there: \(known.sorted().map(\.description).joined(separator: ", ")))")
        }
        mentionsCount = tags.all.contains("count")
    }

    /// Refuses what the library would take too long for, or too much of the stack.
    ///
    /// - Returns: how many tags there are.
    private static func checkSize(of text: String) throws(Mistake) -> Int {
        let bytes = Array(text.utf8)
        guard bytes.count <= maximumBytes else {
            throw Mistake(reason: "it has \(bytes.count) bytes; a template has at most \(maximumBytes)")
        }
        var tags = 0
        var depth = 0
        var index = 0
        while index + 1 < bytes.count {
            guard bytes[index] == UInt8(ascii: "{"), bytes[index + 1] == UInt8(ascii: "{") else {
                index += 1
                continue
            }
            tags += 1
            index += 2
            switch index < bytes.count ? bytes[index] : 0 {
            // With other delimiters it could not be said where names are.
            case UInt8(ascii: "="): throw Mistake(reason: "the braces of a template cannot be changed")
            case UInt8(ascii: "#"), UInt8(ascii: "^"), UInt8(ascii: "$"), UInt8(ascii: "<"): depth += 1
            case UInt8(ascii: "/"): depth -= 1
            default: break
            }
            let length = bytes[index...].prefix { $0 != UInt8(ascii: "}") && $0 != UInt8(ascii: "\n") }.count
            guard length <= maximumTagBytes else {
                throw Mistake(reason: "a tag has \(length) bytes; one has at most \(maximumTagBytes)")
            }
            guard depth <= maximumDepth else {
                throw Mistake(reason: "sections are at most \(maximumDepth) deep within each other")
            }
        }
        guard tags <= maximumTags else {
            throw Mistake(reason: "it has \(tags) tags; a template has at most \(maximumTags)")
        }
        return tags
    }

    /// What the library's errors are called for those who write templates.
    private static func words(for error: any Error) -> String {
        switch error as? MustacheTemplate.Error {
        case .sectionCloseNameIncorrect: "a section is closed that is not the one opened last"
        case .expectedSectionEnd: "a section is not closed; {{#distance}} ends with {{/distance}}"
        default: "it is no template; names are written like {{title}}"
        }
    }

    package func render(_ values: [ByteString: String]) -> String {
        template.render(TemplateValues(values: values))
    }
}

/// The names a template uses, and those it uses outside of a section of the same name.
private struct TemplateTags {
    private(set) var all: Set<ByteString> = []
    private(set) var unguarded: [String] = []

    init(_ text: String) {
        var sections: [String] = []
        var rest = text[...]
        while let open = rest.firstRange(of: "{{"), let close = rest[open.upperBound...].firstRange(of: "}}") {
            let tag = rest[open.upperBound..<close.lowerBound].drop { $0 == "{" || $0 == " " }
            rest = rest[close.upperBound...]
            let name = String(tag.drop { "#^/&>!% ".contains($0) }.prefix { $0 != " " && $0 != "}" })
            switch tag.first {
            case "!", "%", ">": continue
            case "/": sections.removeLast(sections.isEmpty ? 0 : 1)
            case "#", "^":
                all.insert(name.bytes)
                sections.append(name)
            default:
                all.insert(name.bytes)
                if !sections.contains(where: { $0.bytes == name.bytes }) { unguarded.append(name) }
            }
        }
    }
}

/// What a template names, found by the bytes of the name.
private struct TemplateValues: MustacheParent {
    let values: [ByteString: String]

    func child(named name: String) -> Any? { values[name.bytes] }
}
