import Glibc
import Routing
import TOMLTables

extension RouteTable {
    /// The programs of buttons that cannot be found now, each with its button.
    var missingPrograms: [String] {
        routes.flatMap { route in
            route.appearance.actions.compactMap { action in
                guard let program = action.command.first, !Self.isThere(program) else { return nil }
                return PlainText.line("\(program), for the button \"\(action.label)\" of \(route.name)")
            }
        }
    }

    /// Whether execvp(3) would find a program.
    private static func isThere(_ program: String) -> Bool {
        guard !program.utf8.contains(UInt8(ascii: "/")) else { return access(program, X_OK) == 0 }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }
}
