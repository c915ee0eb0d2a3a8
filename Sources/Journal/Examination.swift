import GRDBSQLite
import Glibc

/// What a look at every page of a large journal has found.
///
/// Such a look takes a second and more, and a start must not wait for it. So it is made by a process of its own, which has
/// the file to itself: meanwhile the journal writes to its log only. See `Journal.beginExamination`.
public enum Examination: Sendable, Equatable, LosslessStringConvertible {
    /// Everything fits together; so many events are in the file.
    case sound(events: Int)
    /// Pages do not fit together, or indexes their tables, or there are claims of no event.
    case damaged
    /// Nobody could look.
    case failed

    /// Looks at a file that nobody changes, and takes the processor only when nobody else wants it.
    ///
    /// - Parameter path: what `Journal.beginExamination` gave.
    public init(of path: String) {
        // Refused within the unit's sandbox, and then it is a process like any other.
        _ = nice(19)
        self = Self.examine(path)
    }

    // MARK: As one process tells another

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

    // MARK: Looking

    private static func examine(_ path: String) -> Examination {
        // Nothing else keeps SQLite from asking for the locks that the daemon holds, and GRDB opens no URIs:
        // https://www.sqlite.org/c3ref/open.html#coreuriqueryparameters
        let uri = "file:\(escaped(path))?immutable=1"
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        let code = sqlite3_open_v2(uri, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
        guard code == SQLITE_OK, let connection else { return failure(code) }
        do throws(Failure) {
            guard try firstRow(of: "PRAGMA integrity_check(1)", connection) == "ok" else { return .damaged }
            guard try firstRow(of: RowCheck.findStrayClaims, connection) == "0" else { return .damaged }
            return Int(try firstRow(of: "SELECT count(*) FROM event", connection)).map { .sound(events: $0) } ?? .failed
        } catch {
            return failure(error.code)
        }
    }

    private struct Failure: Error { let code: CInt }

    private static func failure(_ code: CInt) -> Examination {
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

    /// What has a meaning in a URI is not to have it in a path.
    private static func escaped(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
    }
}
