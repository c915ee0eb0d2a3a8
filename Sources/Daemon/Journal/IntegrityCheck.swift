import GRDBSQLite
import Glibc

/// The result of an integrity check of a large journal.
///
/// A check takes a second or more, and the start must not wait for it. A process of its own makes it, on a file that
/// does not change meanwhile: the journal writes to its log only. See `Journal.beginIntegrityCheck`.
public enum IntegrityCheck: Sendable, Equatable, LosslessStringConvertible {
    /// No damage; the number of events in the file.
    case sound(events: Int)
    /// Pages or indexes are damaged.
    case damaged
    /// The check could not be made.
    case failed

    /// Checks a file that does not change, at the lowest priority.
    ///
    /// - Parameter path: the result of `Journal.beginIntegrityCheck`.
    public init(of path: String) {
        // The unit's sandbox refuses this; the check then has the normal priority.
        _ = nice(19)
        self = Self.result(path)
    }

    // MARK: Text

    public var description: String {
        switch self {
        case .sound(let events): "sound \(events)"
        case .damaged: "damaged"
        case .failed: "failed"
        }
    }

    public init?(_ description: String) {
        let words = description.split(separator: " ")
        switch (words.first, words.count) {
        case ("sound", 2):
            guard let events = Int(words[1]), events >= 0 else { return nil }
            self = .sound(events: events)
        case ("damaged", 1): self = .damaged
        case ("failed", 1): self = .failed
        default: return nil
        }
    }

    // MARK: Checks

    private static func result(_ path: String) -> IntegrityCheck {
        // Only this keeps SQLite from taking the locks that the daemon holds. GRDB opens no URIs here:
        // https://www.sqlite.org/c3ref/open.html#coreuriqueryparameters
        let uri = "file:\(FileCheck.escapedForURI(path))?immutable=1"
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        let code = sqlite3_open_v2(uri, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
        guard code == SQLITE_OK, let connection else { return failure(code) }
        do throws(Failure) {
            guard try firstRow(of: "PRAGMA integrity_check(1)", connection) == "ok" else { return .damaged }
            return Int(try firstRow(of: "SELECT count(*) FROM event", connection)).map { .sound(events: $0) } ?? .failed
        } catch {
            return failure(error.code)
        }
    }

    private struct Failure: Error { let code: CInt }

    private static func failure(_ code: CInt) -> IntegrityCheck {
        [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) ? .damaged : .failed
    }

    private static func firstRow(of sql: String, _ connection: OpaquePointer) throws(Failure) -> String {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let prepared = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        guard prepared == SQLITE_OK else { throw Failure(code: prepared) }
        let code = sqlite3_step(statement)
        guard code == SQLITE_ROW, let text = sqlite3_column_text(statement, 0) else { throw Failure(code: code) }
        return String(cString: text)
    }
}
