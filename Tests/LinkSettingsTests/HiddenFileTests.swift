import Credentials
import Testing

struct HiddenFileTests {
    @Test(arguments: ["/home/mina/ca.pem", "/tmp/ca.pem", "/srv/homes/mina/ca.pem"])
    func aServiceIsToldThatItsUnitMayHideAFile(path: String) {
        #expect(HiddenFile.advice(for: path, home: "/srv/homes/mina", isService: true).contains("~/.config/notifyd"))
        #expect(HiddenFile.advice(for: path, home: "/srv/homes/mina", isService: false).isEmpty)
    }

    @Test(arguments: ["/etc/ssl/ca.pem", "/homework/ca.pem"])
    func otherFilesAreHiddenByNoUnit(path: String) {
        #expect(HiddenFile.advice(for: path, home: "/home/mina", isService: true).isEmpty)
    }
}
