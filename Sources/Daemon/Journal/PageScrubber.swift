import GRDB
import GRDBSQLite
import Glibc

/// Overwrites the unused parts of a database's pages with zeros, in the file.
///
/// SQLite does not read these bytes, so it does not matter when the machine stops in between. Only they are written:
/// SQLite too relies on that a write changes no bytes beside its own. The log must be empty.
struct PageScrubber {
    private let file: DatabaseFile
    private let pageSize: Int
    /// Bytes of a page without those reserved at its end.
    private let usable: Int
    private let pages: Int
    private let areZerosDoubtful: Bool

    /// - Parameter areZerosDoubtful: whether zeros are written also where there are some.
    init(_ db: Database, areZerosDoubtful: Bool) throws {
        // Another descriptor of our own would release the locks when it is closed.
        guard let file = DatabaseFile(SQLITE_FCNTL_FILE_POINTER, db.sqliteConnection) else {
            throw JournalError.inputOutput
        }
        self.file = file
        let header = try file.read(100, at: 0)
        let stated = Int(header[16]) << 8 | Int(header[17])
        pageSize = stated == 1 ? 65536 : stated
        usable = pageSize - Int(header[20])
        guard pageSize >= 512, usable >= 480 else { throw JournalError.damaged }
        pages = try file.size() / pageSize
        self.areZerosDoubtful = areZerosDoubtful
    }

    /// - Parameters:
    ///   - page: the first page; page 1 has only the definitions of the tables.
    ///   - count: the greatest number of pages.
    /// - Returns: the page to continue with; `nil` if there are no such pages.
    func scrub(_ page: Int, count: Int) throws -> Int? {
        let first = max(page, 2)
        let end = min(first + count, pages + 1)
        guard first < end else { return nil }
        let offset = (first - 1) * pageSize
        let bytes = try file.read((end - first) * pageSize, at: offset)
        let zeros = [UInt8](repeating: 0, count: pageSize)
        try bytes.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: pageSize) {
                let page = UnsafeRawBufferPointer(rebasing: bytes[start..<start + usable])
                for range in Self.unused(in: page) {
                    let isZero = memcmp(page.baseAddress! + range.lowerBound, zeros, range.count) == 0
                    guard !isZero || areZerosDoubtful else { continue }
                    try file.write(zeros.prefix(range.count), at: offset + start + range.lowerBound)
                }
            }
        }
        return end
    }

    /// Writes what was overwritten to the disk.
    func sync() throws { try file.sync() }

    /// The pages in the write-ahead log. See “WAL File Format” in the
    /// [database file format](https://www.sqlite.org/fileformat2.html).
    static func pagesInLog(_ db: Database) throws -> Set<Int> {
        guard let log = DatabaseFile(SQLITE_FCNTL_JOURNAL_POINTER, db.sqliteConnection) else { return [] }
        let size = try log.size()
        guard size > 32 else { return [] }
        let header = try log.read(32, at: 0)
        func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        let pageSize = number(header[8..<12])
        var pages: Set<Int> = []
        for offset in stride(from: 32, to: size - 24 - pageSize + 1, by: 24 + pageSize) {
            let frame = try log.read(24, at: offset)
            // Frames with other salts are left from earlier use of the file.
            guard frame[8..<16] == header[16..<24] else { break }
            pages.insert(number(frame[0..<4]))
        }
        return pages
    }

    /// The unused bytes of a b-tree page: between the pointers to the cells and the cells, and in the free blocks. See
    /// “B-tree Pages” in the [database file format](https://www.sqlite.org/fileformat2.html).
    ///
    /// - Parameter page: any page but the first. Pages of other kinds, and damaged ones, have none.
    static func unused(in page: UnsafeRawBufferPointer) -> [Range<Int>] {
        func number(_ offset: Int) -> Int { Int(page[offset]) << 8 | Int(page[offset + 1]) }
        let header: Int
        switch page[0] {
        case 2, 5: header = 12
        case 10, 13: header = 8
        default: return []
        }
        let gap = header + 2 * number(3)
        // 65536 is written as 0.
        let content = number(5) == 0 ? 65536 : number(5)
        guard gap <= content, content <= page.count else { return [] }
        var ranges = [gap..<content]
        var block = number(1)
        while block != 0 {
            guard block >= ranges[ranges.count - 1].upperBound, block + 4 <= page.count else { return [] }
            let size = number(block + 2)
            guard size >= 4, block + size <= page.count else { return [] }
            // The first four bytes are the next block and the size.
            ranges.append(block + 4..<block + size)
            block = number(block)
        }
        return ranges.filter { !$0.isEmpty }
    }
}

/// A file that SQLite has open.
struct DatabaseFile {
    /// What is read or written at once. SQLite ignores the upper bits of a count above 128 KiB: `seekAndWriteFd` of
    /// its os_unix.c.
    static let step = 64 << 10

    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods

    /// - Parameter which: `SQLITE_FCNTL_FILE_POINTER`, or `SQLITE_FCNTL_JOURNAL_POINTER` for the write-ahead log.
    /// - Returns: `nil` if it is not open.
    init?(_ which: CInt, _ connection: SQLiteConnection?) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(connection, "main", which, &file)
        // A file that is not open has no methods.
        guard let file, let methods = file.pointee.pMethods else { return nil }
        self.file = file
        self.methods = methods.pointee
    }

    func size() throws -> Int {
        var size: sqlite3_int64 = 0
        try check(methods.xFileSize(file, &size))
        return Int(size)
    }

    func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try check(methods.xRead(file, &bytes, CInt(count), Int64(offset)))
        return bytes
    }

    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: Self.step) {
            let place = Int64(offset + start - bytes.startIndex)
            try bytes[start...].prefix(Self.step).withUnsafeBytes {
                try check(methods.xWrite(file, $0.baseAddress, CInt($0.count), place))
            }
        }
    }

    func sync() throws { try check(methods.xSync(file, SQLITE_SYNC_NORMAL)) }

    /// The errno(3) of the last call that failed.
    var lastError: CInt {
        var error: CInt = 0
        _ = methods.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error)
        return error
    }

    private func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}
