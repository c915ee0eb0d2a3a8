private import Foundation
private import FoundationXML

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
