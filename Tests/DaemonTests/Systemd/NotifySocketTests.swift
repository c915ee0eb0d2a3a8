import Foundation
import Glibc
import Logging
import Testing

@testable import Systemd

/// A service manager that does not read keeps nobody waiting, and misses no last word.
struct NotifySocketTests {
    /// A manager's socket, bound to a path or to an abstract name.
    private final class Manager {
        let name: String
        private let descriptor: CInt

        init(isAbstract: Bool) {
            name = (isAbstract ? "@" : "/tmp/") + "notifyd-test-\(UUID().uuidString)"
            descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            var bytes = Array(name.utf8)
            if isAbstract { bytes[0] = 0 }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            precondition(result == 0)
        }

        deinit {
            close(descriptor)
            if name.hasPrefix("/") { unlink(name) }
        }

        /// What lies in the socket.
        func read() -> [String] {
            var all: [String] = []
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &bytes, bytes.count, 0)
                guard count >= 0 else { return all }
                all.append(String(decoding: bytes[..<count], as: UTF8.self))
            }
        }
    }

    @Test(arguments: [true, false]) func aManagerThatDoesNotReadKeepsNobodyWaiting(isAbstract: Bool) throws {
        let manager = Manager(isAbstract: isAbstract)
        let socket = try #require(NotifySocket(manager.name))
        var count = 0
        while count < 100_000, socket.send("STATUS=\(count)") == .sent { count += 1 }
        #expect((1..<100_000).contains(count))
        #expect(socket.send("READY=1") == .full)
        #expect(manager.read() == (0..<count).map { "STATUS=\($0)" })
        #expect(socket.send("READY=1") == .sent)
        #expect(manager.read() == ["READY=1"])
    }

    @Test func aManagerThatIsGoneIsNotWaitedFor() throws {
        let socket = try #require(NotifySocket("/tmp/notifyd-test-\(UUID().uuidString)"))
        #expect(socket.send("READY=1") == .failed)
        for name in ["", "@", "relative", "vsock:2:1", "/" + String(repeating: "x", count: 200)] {
            #expect(NotifySocket(name) == nil, "\(name)")
        }
    }

    @Test func ofWhatTheManagerHasNotReadTheNewestOfEachKindIsKept() {
        var queue = StatementQueue()
        var sent: [String] = []
        for number in 1...1_000 {
            queue.put(.reloading, "RELOADING \(number)")
            queue.put(.ready, "READY \(number)")
            queue.put(.status, "STATUS \(number)")
            queue.put(.watchdog, "WATCHDOG")
            queue.flush { _ in false }
        }
        queue.put(.stopping, "STOPPING")
        queue.flush {
            sent.append($0)
            return true
        }
        #expect(sent == ["RELOADING 1000", "READY 1000", "STATUS 1000", "WATCHDOG", "STOPPING"])
        #expect(queue.isEmpty)
    }
}

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

struct LogTextTests {
    @Test func metadataBecomesFieldsThatTheJournalTakes() {
        #expect(LogText.journalField("event.id") == "NOTIFYD_EVENT_ID")
        #expect(LogText.journalField("topic") == "NOTIFYD_TOPIC")
        #expect(LogText.journalField("message.id") == "MESSAGE_ID")
    }

    @Test func theSentenceIsConstantAndTheDataFollowsInOrder() {
        let metadata: Logger.Metadata = ["topic": "/post/27", "event.id": "5", "message.id": "abc"]
        #expect(LogText.sentence("Event accepted", metadata) == "Event accepted: event.id=5 topic=/post/27")
        #expect(LogText.sentence("Started", [:]) == "Started")
    }

    /// A second line would be a record of its own, with a priority of its own.
    @Test func oneRecordIsOneLine() {
        let metadata: Logger.Metadata = ["error": "key “a\n<2>b\r\u{85}c\u{2028}d\u{1B}[31m” is unknown"]
        #expect(LogText.sentence("Bad\nnews", metadata) == "Bad news: error=key “a <2>b  c d [31m” is unknown")
    }

    @Test func levelsAreThePrioritiesOfSyslog() {
        #expect(LogText.priority(.debug) == 7)
        #expect(LogText.priority(.warning) == 4)
        #expect(LogText.priority(.critical) == 2)
    }
}
