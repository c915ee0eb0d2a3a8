import NotifyTestSupport
import Testing

/// What programs outside may use is explained where it stands.
struct DocCommentTests {
    @Test(arguments: ["Client/NotifyClient", "Daemon/Routing", "Bridge/NotifyBridge", "Common/TOMLTables"])
    func everyPublicDeclarationHasADocComment(_ module: String) throws {
        for source in try Project.texts(below: "Sources/\(module)", suffix: ".swift") {
            var above: Substring = ""
            for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
                let code = line.drop { $0 == " " }
                if code.hasPrefix("public "), !above.hasPrefix("///"), !isSelfEvident(code) {
                    Issue.record("\(module): no doc comment above “\(code)”")
                }
                // Attributes stand between the two.
                if !code.hasPrefix("@") { above = code }
            }
        }
    }

    /// Initialisers that take the documented properties, and what a protocol of the standard library asks for.
    private func isSelfEvident(_ declaration: Substring) -> Bool {
        let beginnings = [
            "public import", "public init(", "public let rawValue", "public var description", "public static func",
            "public func hash(", "public func makeAsyncIterator(", "public typealias Element",
        ]
        return beginnings.contains { declaration.hasPrefix($0) }
    }
}
