import Testing

@testable import Systemd

/// Each line that the service manager gets is a statement of its own.
struct ServiceManagerTests {
    @Test(arguments: ["a\nMAINPID=1", "a\r\nMAINPID=1", "a\u{2028}MAINPID=1", "a\u{0}MAINPID=1"])
    func aStatusIsOneStatement(_ text: String) {
        let assignment = ServiceManager.assignment(ofStatus: text)
        #expect(!assignment.contains { $0.isNewline })
        #expect(!assignment.utf8.contains(0))
        #expect(assignment.hasPrefix("STATUS=a "))
        #expect(assignment.hasSuffix("MAINPID=1"))
    }

    /// The manager ignores a message that is longer than 4096 bytes, and the READY=1 in it.
    @Test func aLongStatusIsShortenedBetweenCharacters() {
        let assignment = ServiceManager.assignment(ofStatus: String(repeating: "영", count: 5_000))
        #expect(assignment.utf8.count <= 1_031)
        #expect(assignment.hasSuffix("영…"))
        #expect(ServiceManager.assignment(ofStatus: "Routing") == "STATUS=Routing")
    }
}
