import Foundation
import FoundationXML
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What the daemon says of its interface is what the contract says, to the letter; the order of attributes does not
/// count.
@Suite(.timeLimit(.minutes(1))) struct InterfaceTests {
    @Test func theDaemonOffersTheContractAndNothingElse() async throws {
        let contract = try Project.text("systemd/org.notifyd.Router1.xml")
        try await withRig { rig in
            let connection = try await Connection.open(rig.bus.address)
            defer { connection.close() }
            let answer = try await connection.call(
                .call("Introspect", of: "org.freedesktop.DBus.Introspectable", at: Router.path, on: Router.name))
            let offered = try #require(answer.arguments.first?.string)
            #expect(try InterfaceReader.members(of: offered) == InterfaceReader.members(of: contract))
        }
    }
}

/// Reads the members of our interface out of introspection XML, each as one line.
private final class InterfaceReader: NSObject, XMLParserDelegate {
    private var lines: [String] = []
    private var isOurs = false
    private var member = ""

    static func members(of xml: String) throws -> [String] {
        let reader = InterfaceReader()
        let parser = XMLParser(data: Data(xml.utf8))
        parser.delegate = reader
        guard parser.parse() else { throw parser.parserError ?? CocoaError(.fileReadCorruptFile) }
        return reader.lines.sorted()
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        switch name {
        case "interface": isOurs = attributes["name"] == Router.interface
        case "method", "signal", "property":
            guard isOurs else { return }
            member = "\(name) \(attributes["name"] ?? "")"
            lines.append("\(member) \(attributes["type"] ?? "") \(attributes["access"] ?? "")")
        case "arg" where isOurs:
            // The position counts; signals only ever give things out.
            let position = lines.count { $0.hasPrefix("\(member) argument") }
            let direction = member.hasPrefix("signal") ? "out" : attributes["direction"] ?? "in"
            lines.append(
                "\(member) argument \(position) \(attributes["name"] ?? "") \(attributes["type"] ?? "") \(direction)")
        case "annotation" where isOurs:
            lines.append("\(member) \(attributes["name"] ?? "")=\(attributes["value"] ?? "")")
        default: break
        }
    }
}
