import GRDB
import GRDBSQLite
import Glibc

/// Why the journal cannot do what it is asked for.
public enum JournalError: Error, Equatable, CustomStringConvertible {
    case diskFull
    /// The directory or the file cannot be written.
    case readOnly
    /// Something else than a regular file has the name of one; the text says what.
    case obstacle(String)
    /// A file was deleted, replaced or truncated while it was in use; the text says which, and what became of it.
    case gone(String)
    /// The disk gave an error.
    case inputOutput
    /// The file is none of ours, or is broken.
    case damaged
    /// Another process has it open.
    case inUse
    /// The file was written by a newer version.
    case tooNew
    case other(String)

    public var description: String {
        switch self {
        case .diskFull: "the disk is full; make room and the journal goes on by itself"
        case .readOnly:
            "the state directory cannot be written; it has to be a folder of which the user of notifyd is the owner"
        case .obstacle(let text): "\(text); move it away and the journal goes on by itself"
        case .gone(let text): "\(text); the journal goes on with a file that can be found"
        case .inputOutput: "the disk gives errors; look at the system's log"
        case .damaged: "the file is damaged"
        case .inUse: "another process has the journal open; stop the other notifyd"
        case .tooNew: "the journal was written by a newer notifyd; install that one, or move the journal away"
        case .other(let text): text
        }
    }

    /// - Parameter connection: the one that failed, whose files know what the system said.
    init(_ error: any Error, on connection: SQLiteConnection?) {
        self.init(error)
        // SQLite takes only ENOSPC for a full disk; a quota and RLIMIT_FSIZE are one as well.
        let isFull = Self.systemErrors(connection).contains { [EDQUOT, EFBIG, ENOSPC].contains($0) }
        if self == .inputOutput, isFull { self = .diskFull }
    }

    /// The last errno(3) of the file and of its log; sqlite3_system_errno(3) does not know that of a commit.
    private static func systemErrors(_ connection: SQLiteConnection?) -> [CInt] {
        var errors: [CInt] = [0, 0]
        sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &errors[0])
        var log: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
        // A file that is not open has no methods.
        if let log, let methods = log.pointee.pMethods {
            _ = methods.pointee.xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &errors[1])
        }
        return errors
    }

    /// Titles and bodies never get into an error: GRDB leaves arguments out, and so do we.
    init(_ error: any Error) {
        guard let error = error as? DatabaseError else {
            self = (error as? JournalError) ?? .other("\(error)")
            return
        }
        switch error.resultCode {
        case .SQLITE_FULL: self = .diskFull
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: self = .readOnly
        case .SQLITE_IOERR: self = .inputOutput
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .inUse
        default: self = .other("SQLite error \(error.extendedResultCode.rawValue)")
        }
    }
}
