import ArgumentParser
import NotifyClient
import UserFiles

/// Secrets come from files or from standard input, because others can read the arguments of a program.
enum SecretText {
    private static let maximumBytes = 64 << 10

    /// The text of a file without the final line break; `-` is standard input.
    static func read(_ path: String) throws -> String {
        if path == "-" {
            let text = try StandardInput.text(upTo: maximumBytes)
            guard !text.isEmpty else { throw ValidationError("Standard input holds no secret: it is empty.") }
            return text
        }
        let bytes: [UInt8]?
        do throws(FileKind.Failure) {
            bytes = try FileKind.read(path, atMost: maximumBytes + 1)
        } catch {
            throw ValidationError("\(Terminal.plain(path)) cannot be read: \(error)")
        }
        guard var bytes else { throw ValidationError("\(Terminal.plain(path)) does not exist.") }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard bytes.count <= maximumBytes, !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError(
                "\(Terminal.plain(path)) holds no secret: it is empty, too large or no text in UTF-8.")
        }
        return text
    }
}
