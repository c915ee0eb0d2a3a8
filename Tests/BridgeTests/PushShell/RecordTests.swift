import Mapping
import NotifyBridge
import Routing
import Testing

@testable import notifyd_unifiedpush

/// What is kept on disk.
struct RecordTests {
    private func record(_ endpoint: PushEndpoint) throws -> [UInt8] {
        guard case .put(let key, let bytes) = endpoint.change else { throw CancellationError() }
        #expect(key == "endpoint/" + endpoint.name)
        return bytes
    }

    @Test func anEndpointIsKeptWithAllItsKeys() throws {
        for server in [ServerKey(), ServerKey("\(ServerKey())"), nil] {
            var endpoint = PushEndpoint(name: "post", topic: try Topic("/post/27"), server: server)
            (endpoint.address, endpoint.changed, endpoint.distributor) = ("https://push.example/1", 17, "org.x")
            let kept = try #require(PushEndpoint(record: record(endpoint)))
            #expect(kept.name == "post" && kept.topic == endpoint.topic && kept.token == endpoint.token)
            #expect(kept.source == endpoint.source && kept.address == endpoint.address && kept.changed == 17)
            #expect(kept.distributor == "org.x" && kept.keys.publicKey == endpoint.keys.publicKey)
            #expect(kept.keys.authentication == endpoint.keys.authentication)
            #expect(kept.server?.publicKey == server?.publicKey && kept.server?.privateBytes == server?.privateBytes)
        }
        for text in ["", "{}", "[]", #"{"name": "a b"}"#] { #expect(PushEndpoint(record: Array(text.utf8)) == nil) }
    }

    @Test func tokensAreLongAndNeverTheSame() throws {
        let topic = try Topic("/post")
        let endpoints = (0..<20).map { _ in PushEndpoint(name: "post", topic: topic, server: nil) }
        #expect(Set(endpoints.map(\.token)).count == 20 && Set(endpoints.map(\.source)).count == 20)
        #expect(endpoints.allSatisfy { 40...PushEndpoint.maximumToken ~= $0.token.utf8.count })
    }

    @Test func namesAreForPeopleAndFiles() {
        for name in ["post", "a", "A-1_b.c", String(repeating: "a", count: 32)] { #expect(PushEndpoint.isName(name)) }
        for name in ["", ".", "..", ".a", "-a", "_", "a b", "a/b", "é", "a\n", String(repeating: "a", count: 33)] {
            #expect(!PushEndpoint.isName(name))
        }
    }

    @Test func aBadAddressIsToldWithoutIt() {
        for address in ["https://push.example/1", "http://[::1]:8080/a?b=c"] {
            #expect(PushEndpoint.flaw(ofAddress: address) == nil)
        }
        for (address, part) in [
            ("", "gives no address"), ("https://", "none of https://"), ("ftp://secret/", "none of https://"),
            ("https://secret/ä", "not printable ASCII"), ("https://secret/ a", "a space"),
            ("http://[::", "host or port"), ("https://secret:99999/", "host or port"),
            ("https:///secret", "host or port"),
            ("https://secret/" + String(repeating: "a", count: 1000), "of 1015 bytes"),
        ] {
            let flaw = PushEndpoint.flaw(ofAddress: address) ?? ""
            #expect(flaw.contains(part) && flaw.contains("must be one such as") && !flaw.contains("secret"), "\(flaw)")
        }
    }

    @Test func aMessageIsKeptAsItCame() {
        for bytes in [[], [10], [32, 10, 0, 255], Array(0...255)] as [[UInt8]] {
            let push = DeliveredPush(at: 1_700_000_000_000_000, token: "t-_", message: bytes)
            #expect(DeliveredPush(record: push.record) == push)
        }
        #expect(DeliveredPush(record: Array("x".utf8)) == nil && DeliveredPush(record: Array("x y\n".utf8)) == nil)
    }

    @Test func digestsTellMessagesApart() {
        func digest(_ bytes: [UInt8], at time: Int64 = 0) -> String {
            DeliveredPush(at: time, token: "t", message: bytes).digest
        }
        #expect(digest([1, 2]) == digest([1, 2], at: 5) && digest([1, 2]) != digest([1, 3]))
        // The size of records, which is not authenticated, makes no other message of it.
        let message = [UInt8](0..<40)
        var carried = message
        carried[17] = 99
        #expect(digest(message) == digest(carried))
        for index in [15, 20] {
            carried[index] = 99
            #expect(digest(message) != digest(carried))
            carried[index] = message[index]
        }
        #expect(digest([]) == "e3b0c44298fc1c149afbf4c8996fb924")
    }
}
