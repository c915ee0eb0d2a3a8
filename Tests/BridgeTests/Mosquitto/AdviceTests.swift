import Linking
import Testing

@testable import Mosquitto

/// What to do about the end of a connection, for `notifyctl doctor`.
struct AdviceTests {
    @Test func theUsualReasonsComeWithAdvice() throws {
        for (code, version) in [(0x86, ProtocolVersion.v5), (0x87, .v5), (4, .v311), (5, .v311)] {
            let advice = ConnectionEnd(refusedWith: Int32(code), version: version, user: "mina").advice
            #expect(advice?.contains("'user'") == true && advice?.contains("'password'") == true)
        }
        #expect(ConnectionEnd(noReading: "a").advice?.contains("Access list") == true)
        #expect(ConnectionEnd(noWriting: "a", code: 0x87).advice?.contains("Access list") == true)
        #expect(ConnectionEnd(noWriting: "a", code: 0x97).advice == nil)
        #expect(ConnectionEnd.closed.advice == nil)
    }

    @Test func aBadCertificateComesWithAdvice() throws {
        for expired in [9, 10] {
            let advice = try #require(ConnectionEnd(badCertificate: expired, "").advice)
            #expect(advice.contains("get a new one") && !advice.contains("authorities"))
        }
        let selfSigned = ConnectionEnd(badCertificate: 18, "self-signed certificate")
        #expect(selfSigned.description.contains("not accepted: self-signed certificate; if it is signed by your own"))
        #expect(selfSigned.advice?.contains("authorities =") == true)
        #expect(!ConnectionEnd(badCertificate: 24, "").description.contains("your own"))
        let foreign = ConnectionEnd(foreignCertificateAt: .host("broker.example", port: 8883))
        #expect(foreign.advice?.contains("'server'") == true)
    }
}
