import Glibc
import NotifyRehearsal
import Testing

@testable import TOMLTables

/// Secrets are read from where they are safe, and appear nowhere.
struct CredentialTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ text: String, mode: mode_t = 0o600) throws -> Credential {
        let path = try folder.write(text, to: "password")
        chmod(path, mode)
        return .file(path)
    }

    @Test(arguments: ["swordfish", "swordfish\n", "swordfish\r\n"])
    func aFileHoldsTheSecretAndPerhapsTheEndOfItsLine(_ text: String) throws {
        #expect(try file(text).read().text == "swordfish")
    }

    @Test func everyOtherByteBelongsToTheSecret() throws {
        #expect(try file(" a\n\n").read().bytes == Array(" a\n".utf8))
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o777] as [mode_t])
    func aFileThatOthersCanReadIsRefusedWithTheRemedy(_ mode: mode_t) throws {
        let credential = try file("swordfish", mode: mode)
        let error = #expect(throws: CredentialError.self) { try credential.read() }
        #expect(error?.description.contains("chmod 600 \(folder.path)/password") == true)
        #expect(error?.description.contains("swordfish") == false)
    }

    @Test(arguments: [0o600, 0o400] as [mode_t])
    func aFileOfOnesOwnIsRead(_ mode: mode_t) throws {
        #expect(try file("swordfish", mode: mode).read().text == "swordfish")
    }

    @Test(arguments: ["", "\n"])
    func anEmptyFileIsNoSecret(_ text: String) throws {
        let credential = try file(text)
        #expect(throws: CredentialError.self) { try credential.read() }
    }

    @Test func whatIsNoFileOrTooLargeIsRefused() throws {
        let large = try file(String(repeating: "a", count: Credential.maximumBytes + 1))
        #expect(throws: CredentialError.self) { try large.read() }
        #expect(throws: CredentialError.self) { try Credential.file(folder.path).read() }
        let missing = Credential.file(folder.path + "/none")
        #expect(#expect(throws: CredentialError.self) { try missing.read() }?.description.contains("chmod 600") == true)
    }

    @Test func aCredentialOfTheUnitIsReadFromItsFolder() throws {
        try folder.write("swordfish\n", to: "mqtt")
        chmod(folder.path + "/mqtt", 0o440)
        #expect(try Credential.unit("mqtt").read(folder: folder.path).text == "swordfish")
        for missing in [folder.path + "/none", nil] {
            let error = #expect(throws: CredentialError.self) { try Credential.unit("other").read(folder: missing) }
            #expect(error?.description.contains("LoadCredential=other:") == true)
        }
    }

    @Test func aSecretAppearsInNoDescription() throws {
        let secret = try file("swordfish").read()
        var dumped = ""
        dump([secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: [secret]), dumped, "\(Optional(secret) as Any)"] {
            #expect(!text.contains("swordfish") && !text.contains("115, 119"))
        }
    }

    @Test(
        arguments: [
            ("{ credential = \"mqtt\" }", "the credential \"mqtt\""), ("{ file = \"/a/b\" }", "the file /a/b"),
            ("{ file = \"b\" }", "the file /etc/b"),
        ])
    func aTableSaysWhereTheSecretIs(_ text: String, _ place: String) throws {
        let credential = try TableReader.read(file: "/etc/a.toml", text: "password = \(text)") {
            $0.credential("password")
        }
        #expect(credential.description == place)
    }

    @Test(
        arguments: [
            "\"swordfish\"", "{}", "{ file = \"a\", credential = \"b\" }", "{ credential = \"a/b\" }",
            "{ credential = \"..\" }", "{ credential = \"\" }", "{ file = \"\" }", "{ credential = 7 }",
            "{ credential = \"a\", key = \"b\" }",
        ])
    func everythingElseIsAMistakeWithItsPlace(_ text: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try TableReader.read(file: "/etc/a.toml", text: "password = \(text)") { $0.credential("password") }
        }
        #expect(error?.mistakes.first?.line == 1)
        #expect(error?.description.contains("swordfish") == false)
    }
}
