import Mapping

/// The names that a text of a map uses, compared with those that a message has: a text of unknown names alone would be
/// empty.
enum TemplateNames {
    /// Names that are not known, each as it is written, in their order. Below ``open`` names everything is known, also
    /// in a section.
    static func unknown(in template: MessageTemplate, known: [String], open: Set<String>) -> [String] {
        var unknown: [String] = []
        // Sections in whose elements any name may be.
        var openSections = 0
        var sections: [Bool] = []
        var rest = template.source[...]
        while let begin = rest.firstRange(of: "{{") {
            rest = rest[begin.upperBound...]
            let isTriple = rest.first == "{"
            guard let end = rest.firstRange(of: isTriple ? "}}}" : "}}") else { break }
            let tag = rest[..<end.lowerBound].drop { $0 == "{" || $0 == " " }
            rest = rest[end.upperBound...]
            let sign = tag.first.flatMap { "#^/!&".contains($0) && !isTriple ? $0 : nil }
            let name = String((sign == nil ? tag : tag.dropFirst()).filter { $0 != " " })
            if sign == "!" { continue }
            if sign == "/" {
                if sections.popLast() == true { openSections -= 1 }
                continue
            }
            let first = String(name.prefix { $0 != "." })
            let isOpen = open.contains(first)
            let isKnown =
                isOpen || name == "." || openSections > 0 || known.contains(name)
                || known.contains { $0.hasPrefix(name + ".") }
            if !isKnown, !unknown.contains(name) { unknown.append(name) }
            if sign == "#" || sign == "^" {
                let opensNames = sign == "#" && isOpen
                sections.append(opensNames)
                if opensNames { openSections += 1 }
            }
        }
        return unknown
    }
}
