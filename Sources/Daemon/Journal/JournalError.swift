import GRDB
import GRDBSQLite
import Glibc

/// An error of the journal.
public enum JournalError: Error, Equatable, CustomStringConvertible {
    case diskFull
    /// A file would exceed the file-size limit of this process: `RLIMIT_FSIZE` of setrlimit(2).
    case fileTooLarge
    /// The directory or the file cannot be written.
    case readOnly
    /// A name leads to a file that is not a regular one; the text says to what.
    case obstacle(String)
    /// A file was deleted, moved or replaced while it was open.
    case gone
    /// An input/output error of the disk.
    case inputOutput
    /// The file is not a journal, or is damaged.
    case damaged
    /// Another process has it open.
    case inUse
    /// The file was written by a newer version.
    case tooNew
    case other(String)

    public var description: String {
        switch self {
        case .diskFull:
            "the disk is full; make room there, or delete old events with notifyctl forget if the "
                + "journal is what fills it"
        case .fileTooLarge:
            "a file has reached the limit of file sizes; raise it (ulimit -f, or LimitFSIZE= of "
                + "the unit), restart notifyd"
        case .readOnly: "its directory or a file in it is read-only"
        case .obstacle(let text): "\(text); move it away and the journal goes on by itself"
        case .gone:
            "its files were deleted, moved or replaced while notifyd had them open; notifyd goes on in a moment with "
                + "what is there and what is in memory"
        case .inputOutput: "the disk gives errors; look at the system's log"
        case .damaged: "its index is damaged; notifyd makes a new one in a moment from what can be read"
        case .inUse: "another process has the journal open, another notifyd or a program such as sqlite3; end that one"
        case .tooNew: "the journal was written by a newer notifyd; install that one, or move the journal away"
        case .other(let text): text
        }
    }

    /// What to do about it, for `Diagnose`.
    public var advice: String {
        switch self {
        case .gone, .damaged: "There is nothing to do: notifyd repairs that itself."
        case .readOnly:
            "If the state directory was deleted, replaced or mounted again, the sandbox still "
                + "shows the old one: systemctl "
                + "--user restart notifyd. Otherwise make it writable, and notifyd continues within seconds."
        default: "Correct that, and notifyd continues within seconds."
        }
    }

    /// - Parameter connection: the connection that failed; its files have the errno(3).
    init(_ error: any Error, on connection: SQLiteConnection?) {
        self.init(error)
        guard self == .inputOutput else { return }
        // SQLite reports only ENOSPC as a full disk. An exhausted quota is one as well.
        // sqlite3_system_errno(3) does not have that of a commit.
        let files = [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER]
        let errors = files.compactMap { DatabaseFile($0, connection)?.lastError }
        if errors.contains(EROFS) { self = .readOnly }
        if errors.contains(EFBIG) { self = .fileTooLarge }
        if errors.contains(ENOSPC) || errors.contains(EDQUOT) { self = .diskFull }
    }

    /// Errors never contain titles or bodies: GRDB leaves arguments out, and so do we.
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
