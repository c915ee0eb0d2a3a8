import Testing

@testable import Mapping

/// Keys as text.
struct KeyTextTests {
    @Test func base64URLIsStrict() {
        for count in 0..<70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes)
            #expect(!text.contains { "+/=".contains($0) })
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        #expect(Base64URL.decode("-_8=") == [0xFB, 0xFF])
        for text in ["-_8==", "+/8", "a", "-_9", "a b", "é"] { #expect(Base64URL.decode(text) == nil, "\(text)") }
    }

    @Test func aServerKeyIsAPointOfTheCurve() throws {
        let own = ServerKey()
        #expect("\(own)".utf8.count == 87 && own.privateBytes?.count == 32)
        let sender = try #require(ServerKey("\(own)"))
        #expect(sender.publicKey == own.publicKey && sender.privateBytes == nil)
        #expect(ServerKey(privateBytes: try #require(own.privateBytes))?.publicKey == own.publicKey)
        var point = own.publicKey
        point[64] ^= 1
        for text in [
            "", "x", Base64URL.encode(point), Base64URL.encode([UInt8](repeating: 4, count: 65)), "\(own)=", "\(own)A",
        ] {
            #expect(ServerKey(text) == nil, "\(text)")
        }
        #expect(ServerKey(privateBytes: [1]) == nil)
    }
}
