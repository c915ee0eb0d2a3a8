import NotifyText
import UserFiles

/// Reads the files of a configuration.
package enum ConfigurationText {
    private static let maximumBytes = 1 << 20

    /// The text of a file, or `nil` if there is none.
    ///
    /// - Throws: if it cannot be read, is too large or is not UTF-8.
    package static func read(_ path: String) throws(ConfigurationError) -> String? {
        let bytes: [UInt8]
        do throws(FileKind.Failure) {
            guard let content = try FileKind.read(path, atMost: maximumBytes + 1) else { return nil }
            bytes = content
        } catch {
            throw ConfigurationError(file: path, line: 0, column: 0, reason: "it cannot be read: \(error)")
        }
        guard bytes.count <= maximumBytes else {
            throw ConfigurationError(
                file: path, line: 0, column: 0, reason: "the file is larger than \(maximumBytes) bytes")
        }
        if let fault = Encoding.firstFault(in: bytes) {
            let lines = bytes[..<fault].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            throw ConfigurationError(
                file: path, line: lines.count,
                column: String(decoding: lines.last!, as: UTF8.self).unicodeScalars.count + 1,
                reason: "this byte (0x\(String(bytes[fault], radix: 16))) is not UTF-8; a configuration is UTF-8 text")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
