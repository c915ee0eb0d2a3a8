import Testing
import UserFiles

struct NamedFileTests {
    private func advice(_ path: String, home: String, isService: Bool = true) -> String {
        let variables = ["HOME": home, "INVOCATION_ID": isService ? "1" : nil]
        return NamedFile.hidingAdvice(for: path) { variables[$0] ?? nil }
    }

    @Test(arguments: ["/home/mina/ca.pem", "/tmp/ca.pem", "/srv/homes/mina/ca.pem"])
    func aServiceIsToldThatItsUnitMayHideAFile(path: String) {
        #expect(advice(path, home: "/srv/homes/mina").contains("~/.config/notifyd"))
        #expect(advice(path, home: "/srv/homes/mina", isService: false).isEmpty)
    }

    @Test(arguments: ["/etc/ssl/ca.pem", "/homework/ca.pem", "/home/mina/.config/notifyd/ca.pem"])
    func otherFilesAreHiddenByNoUnit(path: String) {
        #expect(advice(path, home: "/home/mina").isEmpty)
    }

    @Test func whatIsNotThereIsNamed() {
        #expect(NamedFile.mistake(at: "/etc/passwd") == nil)
        #expect(
            NamedFile.mistake(at: "/nowhere/ca.pem")
                == "the file /nowhere/ca.pem cannot be read: No such file or directory")
    }
}
