import Foundation
import NotifyTestSupport

/// A manual page in mdoc(7), as far as its tests look into it.
struct ManualPage {
    /// An item of a list: `.It Fl -wait`.
    struct Item: Hashable {
        /// The heading above it, of the first or the second level.
        let heading: String
        /// Such as `Fl`.
        let macro: String
        /// What follows it on the line.
        let text: String
        /// The words that are set as `.Li` below it.
        var literals: [String] = []
    }

    private(set) var items: [Item] = []
    private(set) var headings: [String] = []
    /// The lines that are displayed as they are: those after `.Dl`, and those between `.Bd` and `.Ed`.
    private(set) var examples: [String] = []
    /// Headings, also those of lists, that are words and no macros.
    private(set) var sentences: [String] = []
    /// Words after a macro that are macros too, although a page of ours never means these macros.
    private(set) var swallowed: [String] = []

    /// The macros that mark what a heading of a list explains.
    private static let markers: Set<Substring> = ["Fl", "Va", "Li", "Em", "Cm", "Dv", "Ev", "Pa", "Fn", "Ar", "Er"]
    private static let unusedMacros: Set<Substring> = ["Ad", "An", "At", "Do", "Es", "In", "So"]

    init(_ path: String) throws {
        var isDisplay = false
        for line in try Project.text(path).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2)
            if line.hasPrefix(".") {
                let arguments = line.split(separator: " ").dropFirst()
                swallowed += arguments.filter(Self.unusedMacros.contains).map { _ in String(line) }
                if [".Sh", ".Ss", ".It"].contains(words[0]), let first = arguments.first, !Self.markers.contains(first)
                {
                    let cell = arguments.prefix { $0 != "Ta" }.joined(separator: " ")
                    sentences.append(
                        cell.replacing(#"\&"#, with: "").replacing("\"", with: "").replacing(" ,", with: ","))
                }
            }
            switch words[0] {
            case ".Sh", ".Ss": headings.append(String(line.dropFirst(4)))
            case ".It" where words.count > 1:
                items.append(
                    Item(
                        heading: headings.last ?? "", macro: String(words[1]),
                        text: words.count > 2 ? String(words[2]) : ""))
            case ".Li" where !items.isEmpty: items[items.count - 1].literals += Self.words(line)
            case ".Pq" where words.count > 2 && words[1] == "Li": items[items.count - 1].literals += Self.words(line)
            case ".Dl": examples.append(Self.plain(line.dropFirst(4)))
            case ".Bd": isDisplay = true
            case ".Ed": isDisplay = false
            default: if isDisplay { examples.append(Self.plain(line)) }
            }
        }
    }

    /// A line of a rendered page without indentation and without the overstriking for bold and underlined text.
    static func printed(_ line: String) -> String {
        var characters: [Unicode.Scalar] = []
        var isOverstruck = false
        for character in line.unicodeScalars {
            if character == "\u{8}" {
                isOverstruck = true
            } else if isOverstruck, !characters.isEmpty {
                characters[characters.count - 1] = character
                isOverstruck = false
            } else {
                characters.append(character)
            }
        }
        return String(String.UnicodeScalarView(characters)).trimmingCharacters(in: .whitespaces)
    }

    private static func words(_ line: Substring) -> [String] {
        line.split { $0 == " " || $0 == "," || $0 == ";" }.map(String.init).filter {
            $0 != ".Li" && $0 != ".Pq" && $0 != "Li"
        }
    }

    /// Without the escapes of roff(7) that our pages use.
    private static func plain(_ line: Substring) -> String {
        String(line).replacing(#"\-"#, with: "-").replacing(#"\(dq"#, with: "\"").replacing(#"\e"#, with: #"\"#)
    }
}

extension ManualPage.Item {
    /// The options that an item `.It Fl f , -field Ar …` explains, as they are typed.
    var options: [String] {
        guard macro == "Fl" else { return [] }
        return text.split(separator: " ").prefix { $0 == "," || $0.first == "-" || $0.count == 1 }
            .filter { $0 != "," }.map { "-" + $0 }
    }
}
