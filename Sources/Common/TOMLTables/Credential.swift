import Glibc
import UserFiles

/// Where a secret is: in a credential of the unit or in a file, never in the configuration itself.
///
///     password = { credential = "mqtt" }       # LoadCredential=mqtt:… in the unit
///     password = { file = "mqtt.password" }    # beside the configuration, or an absolute path; mode 0600
public enum Credential: Hashable, Sendable, CustomStringConvertible {
    /// A credential of the unit, by its name; systemd.exec(5).
    case unit(String)
    /// A file, by its absolute path.
    case file(String)

    /// A secret has at most so many bytes.
    static let maximumBytes = 64 << 10

    /// Whether it is a credential of the unit, which other programs cannot read.
    public var isOfUnit: Bool {
        if case .unit = self { true } else { false }
    }

    /// The path of its file; `nil` for a credential of the unit.
    public var path: String? {
        if case .file(let path) = self { path } else { nil }
    }

    /// Where it is; not what it is.
    public var description: String {
        switch self {
        case .unit(let name): "the credential \"\(name)\""
        case .file(let path): "the file \(path)"
        }
    }

    /// Reads the secret. Read it whenever it is needed, such as before each connection: then a new one counts without a
    /// restart.
    public func read() throws(CredentialError) -> Secret {
        try read(folder: getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) })
    }

    /// - Parameter folder: `$CREDENTIALS_DIRECTORY`.
    func read(folder: String?) throws(CredentialError) -> Secret {
        switch self {
        case .unit(let name):
            guard let folder, folder.hasPrefix("/") else {
                throw CredentialError(
                    "\(self) is not there, because the service manager has passed no credentials; write "
                        + "LoadCredential=\(name):/its/file into the unit, or name the file itself: { file = \"…\" }"
                )
            }
            guard let bytes = try bytes(of: folder + "/" + name) else {
                throw CredentialError("\(self) is not there; write LoadCredential=\(name):/its/file into the unit")
            }
            return try secret(bytes)
        case .file(let path):
            guard let bytes = try bytes(of: path) else {
                throw CredentialError(
                    "\(self) is not there; write the secret into it, and then: chmod 600 \(path)"
                        + NamedFile.hidingAdvice(for: path))
            }
            try requirePrivacy(of: path)
            return try secret(bytes)
        }
    }

    private func bytes(of path: String) throws(CredentialError) -> [UInt8]? {
        do throws(FileKind.Failure) {
            return try FileKind.read(path, atMost: Self.maximumBytes + 1)
        } catch {
            throw CredentialError("\(self) cannot be read: \(error)")
        }
    }

    private func secret(_ bytes: [UInt8]) throws(CredentialError) -> Secret {
        guard bytes.count <= Self.maximumBytes else {
            throw CredentialError(
                "\(self) is larger than \(Self.maximumBytes) bytes; it holds the secret and nothing else")
        }
        let secret = Secret(line: bytes)
        guard !secret.bytes.isEmpty else {
            throw CredentialError("\(self) is empty; it holds the secret and nothing else")
        }
        return secret
    }

    /// Others must not be able to read the file, or to have put something else there.
    private func requirePrivacy(of path: String) throws(CredentialError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CredentialError("\(self) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_uid == getuid() || status.st_uid == 0 else {
            throw CredentialError(
                "\(self) belongs to another user, number \(status.st_uid); a secret is in a file of your own")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw CredentialError(
                "\(self) can be read or written by others (mode 0\(String(status.st_mode & 0o777, radix: 8))); "
                    + "make it private: chmod 600 \(path)")
        }
    }
}

/// Why a secret cannot be had, in a sentence that says what would be right.
public struct CredentialError: Error, Equatable, CustomStringConvertible {
    /// What is wrong and what would be right.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// A password or a key. It appears in no description and no dump.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The secret itself.
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Editors end a file with the end of a line, which is not part of the secret.
    init(line: [UInt8]) {
        var bytes = line[...]
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        self.bytes = Array(bytes)
    }

    /// The secret as text; `nil` if it is not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    public var description: String { "(secret)" }
    /// The same as the description.
    public var debugDescription: String { description }
    /// Nothing of it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TableReader {
    /// Where a secret is: `{ credential = "NAME" }` or `{ file = "PATH" }`. The secret itself is not read yet.
    public mutating func credential(_ key: String) -> Credential? {
        let folder = self.folder
        let wanted =
            "{ credential = \"NAME\" } or { file = \"PATH\" }, because a secret is never in the configuration itself"
        return table(key, wanted: wanted) { table in
            let name = table.string("credential")
            let file = table.string("file")
            switch (name, file) {
            case (let name?, nil):
                guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")) else {
                    table.note(
                        "credential", "'credential' is the name of a credential of the unit, such as \"password\"")
                    return nil
                }
                return .unit(name)
            case (nil, let file?):
                guard !file.isEmpty else {
                    table.note("file", "'file' is the path of a file with the secret")
                    return nil
                }
                return .file(file.hasPrefix("/") ? file : folder + "/" + file)
            default:
                if table.has("credential") == table.has("file") {
                    table.note(
                        "file", "a secret is in one place: { credential = \"NAME\" } or { file = \"PATH\" }")
                }
                return nil
            }
        }
    }
}
