import Crypto
import Foundation
import NotifyText
import Testing

@testable import Mapping

/// Messages of Web Push: those of the specification, those of a real sender, and malformed ones.
struct PushKeysTests {
    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

    // MARK: Known messages

    /// [RFC 8291 appendix A](https://www.rfc-editor.org/rfc/rfc8291#appendix-A).
    @Test func theMessageOfTheSpecificationIsOpened() throws {
        let keys = try #require(
            PushKeys(
                privateBytes: Self.bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"),
                authentication: Self.bytes("BTBZMqHH6r4Tts7J_aSIgg")))
        #expect(
            Base64URL.encode(keys.publicKey)
                == "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
        let message = try Self.bytes(
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
                + "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        )
        #expect(String(decoding: try keys.open(message), as: UTF8.self) == "When I grow up, I want to be a watermelon")
    }

    @Test func messagesOfPywebpushAreOpened() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/pywebpush.json")
        let vectors = try #require(JSONParser.parse(Array(Data(contentsOf: file)))["vectors"]?.elements)
        #expect(vectors.count == 5)
        for vector in vectors {
            func bytes(_ name: String) throws -> [UInt8] { try Self.bytes(#require(vector[name]?.string)) }
            let keys = try #require(
                PushKeys(privateBytes: bytes("private"), authentication: bytes("auth")))
            #expect(try keys.publicKey == bytes("public"))
            #expect(try String(decoding: keys.open(bytes("message")), as: UTF8.self) == vector["text"]?.string)
        }
    }

    @Test func keysThatWereKeptAreTheSame() throws {
        let keys = PushKeys()
        let kept = try #require(PushKeys(privateBytes: keys.privateBytes, authentication: keys.authentication))
        #expect(kept.publicKey == keys.publicKey && keys.publicKey.count == 65 && keys.authentication.count == 16)
        #expect(PushKeys().publicKey != keys.publicKey && PushKeys().authentication != keys.authentication)
        #expect(PushKeys(privateBytes: keys.privateBytes, authentication: [1, 2, 3]) == nil)
        #expect(PushKeys(privateBytes: [UInt8](repeating: 0, count: 32), authentication: keys.authentication) == nil)
        #expect(PushKeys(privateBytes: [], authentication: keys.authentication) == nil)
    }

    // MARK: Made here

    /// A message with parts that no sender would make.
    private func sealed(
        _ record: [UInt8], for keys: PushKeys, size: UInt32 = 4096, keyID: [UInt8]? = nil, keyLength: UInt8? = nil
    ) throws -> [UInt8] {
        let sender = P256.KeyAgreement.PrivateKey()
        let point = Array(sender.publicKey.x963Representation)
        let shared = try sender.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: keys.publicKey))
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: keys.authentication,
            sharedInfo: Array("WebPush: info\0".utf8) + keys.publicKey + point, outputByteCount: 32)
        let salt = (0..<16).map { _ in UInt8.random(in: 0...255) }
        func derived(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: salt, info: Array(info.utf8), outputByteCount: count)
        }
        let nonce = derived("Content-Encoding: nonce\0", 12).withUnsafeBytes { Array($0) }
        let box = try AES.GCM.seal(
            record, using: derived("Content-Encoding: aes128gcm\0", 16), nonce: AES.GCM.Nonce(data: nonce))
        let id = keyID ?? point
        let header =
            salt + withUnsafeBytes(of: size.bigEndian) { Array($0) } + [keyLength ?? UInt8(id.count)] + id
        return header + Array(box.ciphertext) + Array(box.tag)
    }

    private func error(_ message: [UInt8], _ keys: PushKeys) -> WebPushError? {
        do throws(WebPushError) {
            _ = try keys.open(message)
            return nil
        } catch {
            return error
        }
    }

    @Test func paddingIsTakenOff() throws {
        let keys = PushKeys()
        let text = Array("Hello".utf8)
        for padding in [0, 1, 17, 3988] {
            let record = text + [2] + [UInt8](repeating: 0, count: padding)
            #expect(try keys.open(sealed(record, for: keys)) == text)
        }
        #expect(try keys.open(sealed([2], for: keys)) == [])
        // A text may itself end with what looks like padding.
        #expect(try keys.open(sealed([2, 0, 0, 2, 0], for: keys)) == [2, 0, 0])
    }

    @Test func whatIsMalformedIsAnErrorByName() throws {
        let keys = PushKeys()
        let message = try sealed(Array("Hello".utf8) + [2], for: keys)
        #expect(error([], keys) == .truncatedHeader)
        #expect(error(Array(message.prefix(20)), keys) == .truncatedHeader)
        #expect(error(Array(message.prefix(85)), keys) == .truncatedHeader)
        #expect(error(Array(message.prefix(86)), keys) == .truncatedRecord)
        #expect(error(Array(message.prefix(86 + 16)), keys) == .truncatedRecord)
        #expect(error([UInt8](repeating: 0, count: 4097), keys) == .tooLong)
        #expect(error(try sealed([2], for: keys, size: 17), keys) == .recordSize)
        #expect(error(try sealed([2], for: keys, size: 0), keys) == .recordSize)
        #expect(error(try sealed([1, 2], for: keys, size: 18), keys) == nil)
        #expect(error(try sealed([1, 1, 2], for: keys, size: 18), keys) == .severalRecords)
        #expect(error(try sealed([2], for: keys, size: .max), keys) == nil)
        #expect(error(try sealed([2], for: keys, keyID: []), keys) == .keyLength)
        #expect(error(try sealed([2], for: keys, keyID: Array("sender".utf8)), keys) == .keyLength)
        #expect(error(try sealed([2], for: keys, keyLength: 255), keys) == .keyLength)
        var point = [UInt8](repeating: 7, count: 65)
        for first in [UInt8(4), 2, 3, 0] {
            point[0] = first
            #expect(error(try sealed([2], for: keys, keyID: point), keys) == .senderKey)
        }
        #expect(error(try sealed([2], for: keys, keyID: keys.publicKey), keys) == .notAuthentic)
        #expect(error(message, PushKeys()) == .notAuthentic)
        #expect(error(try sealed([], for: keys), keys) == .truncatedRecord)
        #expect(error(try sealed([0, 0, 0], for: keys), keys) == .noDelimiter)
        #expect(error(try sealed([65, 1], for: keys), keys) == .wrongDelimiter)
        #expect(error(try sealed([65, 66, 0], for: keys), keys) == .wrongDelimiter)
    }

    /// Who knows the address but not the secret cannot send.
    @Test func withoutTheSecretNothingIsOpened() throws {
        let keys = PushKeys()
        let guess = try #require(
            PushKeys(privateBytes: keys.privateBytes, authentication: [UInt8](repeating: 0, count: 16)))
        #expect(error(try sealed([65, 2], for: guess), keys) == .notAuthentic)
    }

    @Test func noChangedBitIsOpened() throws {
        let keys = PushKeys()
        let message = try sealed(Array("Hello".utf8) + [2], for: keys)
        for index in message.indices {
            var changed = message
            changed[index] ^= 1 << UInt8(index % 8)
            // A greater size of records holds the same record.
            if (16..<20).contains(index) { continue }
            #expect(error(changed, keys) != nil, "byte \(index)")
            #expect(error(Array(message.prefix(index)), keys) != nil)
        }
    }

    @Test func noRandomBytesAreOpened() {
        let keys = PushKeys()
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            var message = (0..<Int.random(in: 0...300)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            // So that some come past the header.
            if message.count > 25 { (message[16], message[17], message[20]) = (0, 0, 65) }
            #expect(error(message, keys) != nil)
        }
    }

    @Test func everyErrorSaysWhatIsWrong() {
        #expect(Set(WebPushError.allCases.map(\.description)).count == WebPushError.allCases.count)
    }
}
