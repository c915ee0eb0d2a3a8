private import Foundation
private import FoundationXML

/// The files of this project.
package enum Project {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

    /// The absolute path of a file that is named from the root of the project.
    package static func path(_ file: String) -> String { folder.appending(path: file).path }

    package static func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    /// The texts of all files below a folder whose names end so.
    package static func texts(below path: String, suffix: String) throws -> [String] {
        let files = FileManager.default.enumerator(at: folder.appending(path: path), includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.path.hasSuffix(suffix) }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }
}

/// The programs of this package, as they were built together with the tests.
package enum BuiltPrograms {
    package static let notifyd = path("notifyd")
    package static let notifyctl = path("notifyctl")
    package static let notifyload = path("notifyload")
    package static let notifydMQTT = path("notifyd-mqtt")
    package static let notifydBrowser = path("notifyd-browser")
    package static let notifydFocus = path("notifyd-focus")
    package static let notifydUnifiedPush = path("notifyd-unifiedpush")
    /// The bridge of the tutorial.
    package static let folderBridge = path("FolderBridge")

    /// Programs lie beside the bundle of the tests, which is either what runs or what is given to a helper that runs
    /// it.
    private static func path(_ name: String) -> String {
        guard let bundle = CommandLine.arguments.first(where: { $0.hasSuffix(".xctest") }),
            let slash = bundle.lastIndex(of: "/")
        else { return name }
        return bundle[...slash] + name
    }
}

/// The methods, signals and properties of an interface in introspection XML, in alphabetical order, each with its
/// arguments in their order and its annotations in any. The order of attributes does not count.
///
/// - Throws: if this is not XML.
package func interfaceMembers(of interface: String, in xml: String) throws -> [String] {
    func attribute(_ element: XMLElement, _ name: String, or fallback: String = "") -> String {
        element.attribute(forName: name)?.stringValue ?? fallback
    }
    let nodes = try XMLDocument(xmlString: xml).nodes(forXPath: "/node/interface[@name='\(interface)']/*")
    return nodes.compactMap { $0 as? XMLElement }.map { member in
        let kind = member.name ?? ""
        let arguments = member.elements(forName: "arg").map { argument in
            // Signals only ever give things out.
            let direction = attribute(argument, "direction", or: kind == "signal" ? "out" : "in")
            return "\(attribute(argument, "name")) \(attribute(argument, "type")) \(direction)"
        }
        let annotations = member.elements(forName: "annotation").map { annotation in
            "\(attribute(annotation, "name"))=\(attribute(annotation, "value"))"
        }
        let own = ["name", "type", "access", "value"].map { attribute(member, $0) }
        return "\(kind) \(own.joined(separator: " ")) \(arguments) \(annotations.sorted())"
    }.sorted()
}

/// The scenarios of this project: `Tests/Scenarios/*.timeline`.
public enum ScenarioFiles {
    private static let folder = "Tests/Scenarios"

    /// The names of all scenario files, in alphabetical order.
    public static let names: [String] = {
        guard let files = try? FileManager.default.contentsOfDirectory(atPath: Project.path(folder)) else {
            preconditionFailure("the scenarios are not in \(Project.path(folder))")
        }
        return files.filter { $0.hasSuffix(".timeline") }.sorted()
    }()

    public static func read(_ name: String) throws -> Scenario {
        let file = "\(folder)/\(name)"
        return try Scenario(parsing: Project.text(file), file: file)
    }
}

extension Scenario {
    /// The scenario's settings as the text of a configuration file.
    package var configuration: String {
        var lines = [
            "[defaults]", "window = \"\(settings.window.written)\"", "",
            "[banner]", "max_per_second = \(settings.maximumPerSecond)",
        ]
        if let states = settings.suppressingStates {
            lines += ["", "[screens]", "suppress = [\(states.map { "\"\($0)\"" }.joined(separator: ", "))]"]
        }
        for route in routes {
            lines += ["", "[[route]]", "topic = \"\(route.pattern)\""]
            for attribute in route.attributes {
                let value =
                    switch attribute.value {
                    case .text(let text), .word(let text): "\"\(text)\""
                    case .duration(let length): "\"\(length.written)\""
                    case .integer, .flag: "\(attribute.value)"
                    }
                lines.append("\(attribute.name) = \(value)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
