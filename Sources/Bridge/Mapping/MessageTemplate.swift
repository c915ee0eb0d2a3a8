package import NotifyText

/// A text with values of a JSON object in it, in the language of
/// [mustache(5)](https://mustache.github.io/mustache.5.html):
/// `{{name}}`, `{{a.b}}`, `{{.}}`, `{{#name}}…{{/name}}`, `{{^name}}…{{/name}}`, `{{! a comment }}`. It escapes
/// nothing, and has no partials and no other braces.
///
/// It is not swift-mustache, as in notifyd, because that needs Foundation: a small static program for release has a
/// resident set of 3.9 MiB, 7.4 MiB with the library linked in, and 10.0 MiB once it has rendered a template. Nor does
/// it limit how much a section of a section makes of a message, or tell that a name had no value.
public struct MessageTemplate: Equatable, Sendable {
    private indirect enum Part: Equatable, Sendable {
        case text(String)
        case value([String])
        case section([String], isInverted: Bool, [Part])
    }

    static let maximumBytes = 4096
    static let maximumTags = 256
    static let maximumDepth = 16
    /// The longest text that is rendered, in bytes: sections over long lists could make much of a short message.
    static let maximumResult = 64 << 10

    /// As it was written.
    public let source: String
    private let parts: [Part]
    /// The first part of each name.
    public private(set) var names: Set<String> = []

    /// - Throws: `MapError`, which says what is wrong.
    public init(_ text: String) throws(MapError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw MapError("it has \(text.utf8.count) bytes; a template has at most \(Self.maximumBytes)")
        }
        source = text
        var open: [(name: [String], isInverted: Bool, parts: [Part])] = []
        var parts: [Part] = []
        var tags = 0
        var rest = text[...]
        while let begin = rest.firstRange(of: "{{") {
            if begin.lowerBound > rest.startIndex { parts.append(.text(String(rest[..<begin.lowerBound]))) }
            rest = rest[begin.upperBound...]
            // "{{{name}}}" is the same: nothing is escaped.
            let isTriple = rest.first == "{"
            if isTriple { rest = rest.dropFirst() }
            guard let end = rest.firstRange(of: isTriple ? "}}}" : "}}") else {
                throw MapError("a tag is not closed: {{\(rest.prefix(20))")
            }
            var tag = rest[..<end.lowerBound].drop { $0 == " " }
            rest = rest[end.upperBound...]
            tags += 1
            guard tags <= Self.maximumTags else { throw MapError("a template has at most \(Self.maximumTags) tags") }
            let sign = tag.first.flatMap { "#^/!&>=<$%".contains($0) && !isTriple ? $0 : nil }
            if sign != nil { tag = tag.dropFirst() }
            if sign == "!" { continue }
            let name = try Self.name(tag)
            switch sign {
            case nil, "&":
                names.insert(name.first ?? "")
                parts.append(.value(name))
            case "#", "^":
                guard open.count < Self.maximumDepth else {
                    throw MapError("sections are at most \(Self.maximumDepth) deep within each other")
                }
                names.insert(name.first ?? "")
                open.append((name, sign == "^", parts))
                parts = []
            case "/":
                guard let section = open.popLast() else {
                    throw MapError("{{/\(tag)}} closes a section that was not opened")
                }
                guard section.name == name else {
                    throw MapError(
                        "{{/\(tag)}} comes before {{/\(section.name.joined(separator: "."))}}, which was opened last")
                }
                parts = section.parts + [.section(name, isInverted: section.isInverted, parts)]
            default: throw MapError("{{\(sign!) is not known here: there are names, sections and comments")
            }
        }
        if let section = open.last {
            throw MapError("the section {{#\(section.name.joined(separator: "."))}} is not closed")
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    /// `a.b` is a member of a member, `.` the present element: no names.
    private static func name(_ text: Substring) throws(MapError) -> [String] {
        let name = String(text.split(separator: " ").joined(separator: " "))
        if name == "." { return [] }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard !name.isEmpty, name.utf8.count <= 256, !parts.contains(""), !name.contains(" ") else {
            throw MapError("'\(name)' is not a name; names are written like {{title}} or {{state.value}}")
        }
        return parts
    }

    /// Names that are not known, each as it is written, in their order.
    ///
    /// - Parameters:
    ///   - known: with their members, such as `state.value`.
    ///   - open: below these everything is known, also in a section.
    public func unknownNames(known: [String], open: Set<String>) -> [String] {
        var unknown: [String] = []
        func check(_ name: [String]) {
            let text = name.joined(separator: ".")
            let isKnown =
                name.first.map { open.contains($0) } ?? true || known.contains(text)
                || known.contains { $0.hasPrefix(text + ".") }
            if !isKnown, !unknown.contains(text) { unknown.append(text) }
        }
        func visit(_ parts: [Part], isOpen: Bool) {
            for part in parts {
                switch part {
                case .text: break
                case .value(let name): if !isOpen { check(name) }
                case .section(let name, let isInverted, let parts):
                    if !isOpen { check(name) }
                    visit(parts, isOpen: isOpen || !isInverted && name.first.map { open.contains($0) } ?? false)
                }
            }
        }
        visit(parts, isOpen: false)
        return unknown
    }

    // MARK: Rendering

    /// - Returns: the text with the values of an object; a name without a value is nothing.
    /// - Throws: `MapError` if it becomes too long.
    package func render(_ values: JSON) throws(MapError) -> String {
        var renderer = Renderer(stack: [values])
        try renderer.render(parts)
        return String(decoding: renderer.result, as: UTF8.self)
    }

    /// The same for a text that has another one to stand for it.
    ///
    /// - Parameter usual: the text where the object has nothing of what the template names, so that only its own
    ///   punctuation would be left.
    package func render(_ values: JSON, or usual: String) throws(MapError) -> String {
        let text = try render(values)
        return text.saysNothing && !names.isEmpty ? usual : text
    }

    /// For a text that tells messages apart: what is left of it where a value is missing would be the same for many.
    ///
    /// - Returns: the text; `nil` if a name in it, outside of the sections that are left out, has no value or an empty
    ///   one.
    /// - Throws: `MapError` if it becomes too long.
    package func renderWhole(_ values: JSON) throws(MapError) -> String? {
        var renderer = Renderer(stack: [values])
        try renderer.render(parts)
        return renderer.lacksValue ? nil : String(decoding: renderer.result, as: UTF8.self)
    }

    private struct Renderer {
        /// The innermost last.
        var stack: [JSON]
        var result: [UInt8] = []
        /// Whether a name had no value, or an empty one.
        var lacksValue = false
        /// Sections in sections of long lists take time, too, where they render nothing.
        var steps = 0

        mutating func render(_ parts: [Part]) throws(MapError) {
            for part in parts {
                try step()
                switch part {
                case .text(let text): try append(text)
                case .value(let name):
                    let text = value(of: name)?.plainText ?? ""
                    if text.isEmpty { lacksValue = true }
                    try append(text)
                case .section(let name, let isInverted, let parts):
                    let value = value(of: name)
                    if isInverted {
                        if value.map(\.isEmptySection) ?? true { try render(parts) }
                    } else if let value, !value.isEmptySection {
                        for element in value.elements ?? [value] {
                            try step()
                            stack.append(element)
                            try render(parts)
                            stack.removeLast()
                        }
                    }
                }
            }
        }

        private mutating func step() throws(MapError) {
            steps += 1
            guard steps <= MessageTemplate.maximumResult else { throw MapError("the text has too many parts") }
        }

        private mutating func append(_ text: String) throws(MapError) {
            result += text.utf8
            guard result.count <= MessageTemplate.maximumResult else {
                throw MapError("the text becomes longer than \(MessageTemplate.maximumResult) bytes")
            }
        }

        /// The first part of a name is looked up from the inside.
        private func value(of name: [String]) -> JSON? {
            guard let first = name.first else { return stack.last }
            return stack.reversed().lazy.compactMap { $0[first] }.first?.value(at: Array(name.dropFirst()))
        }
    }
}

extension JSON {
    /// As it stands in a text: a string without quotes, `null` as nothing.
    var plainText: String {
        switch self {
        case .null: ""
        case .string(let text): text
        default: text()
        }
    }

    /// Whether a section of this value is left out.
    fileprivate var isEmptySection: Bool {
        switch self {
        case .null, .boolean(false): true
        case .string(let text): text.isEmpty
        case .array(let elements): elements.isEmpty
        default: false
        }
    }
}

extension String {
    /// Whether it has no letter, no digit and no symbol: white space and punctuation are what a template leaves of a
    /// message that has nothing of what it names.
    package var saysNothing: Bool {
        unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case _ where scalar.isForInternalUse: true
            case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format, .connectorPunctuation,
                .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation,
                .otherPunctuation, .nonspacingMark, .enclosingMark, .spacingMark:
                true
            default: false
            }
        }
    }
}
