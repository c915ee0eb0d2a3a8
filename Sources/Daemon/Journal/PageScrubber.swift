import GRDB
import GRDBSQLite
import Glibc

/// Overwrites the unused parts of a database's pages with zeros, in the file.
///
/// SQLite does not read these bytes, so it does not matter when the machine stops in between. Only they are written:
/// SQLite too relies on that a write changes no bytes beside its own. The log must be empty.
struct PageScrubber {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let pageSize: Int
    /// Bytes of a page without those reserved at its end.
    private let usable: Int
    private let pages: Int

    init(_ db: Database) throws {
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        // Another descriptor of our own would release the locks when it is closed.
        guard let file, file.pointee.pMethods != nil else { throw JournalError.inputOutput }
        self.file = file
        var size: sqlite3_int64 = 0
        try Self.check(file.pointee.pMethods.pointee.xFileSize(file, &size))
        var header = [UInt8](repeating: 0, count: 100)
        try Self.check(file.pointee.pMethods.pointee.xRead(file, &header, 100, 0))
        let stated = Int(header[16]) << 8 | Int(header[17])
        pageSize = stated == 1 ? 65536 : stated
        usable = pageSize - Int(header[20])
        guard pageSize >= 512, usable >= 480 else { throw JournalError.damaged }
        pages = Int(size) / pageSize
    }

    /// - Parameters:
    ///   - page: the first page; page 1 has only the definitions of the tables.
    ///   - count: the greatest number of pages.
    /// - Returns: the page to continue with; `nil` if there are no such pages.
    func scrub(_ page: Int, count: Int) throws -> Int? {
        let first = max(page, 2)
        let end = min(first + count, pages + 1)
        guard first < end else { return nil }
        var bytes = [UInt8](repeating: 0, count: (end - first) * pageSize)
        let offset = Int64(first - 1) * Int64(pageSize)
        try Self.check(file.pointee.pMethods.pointee.xRead(file, &bytes, CInt(bytes.count), offset))
        let zeros = [UInt8](repeating: 0, count: pageSize)
        try bytes.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: pageSize) {
                let page = UnsafeRawBufferPointer(rebasing: bytes[start..<start + usable])
                for range in Self.unused(in: page) {
                    guard memcmp(page.baseAddress! + range.lowerBound, zeros, range.count) != 0 else { continue }
                    try Self.check(
                        file.pointee.pMethods.pointee.xWrite(
                            file, zeros, CInt(range.count), offset + Int64(start + range.lowerBound)))
                }
            }
        }
        return end
    }

    /// Writes what was overwritten to the disk.
    func sync() throws {
        try Self.check(file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL))
    }

    /// The pages in the write-ahead log. See “WAL File Format” in the
    /// [database file format](https://www.sqlite.org/fileformat2.html).
    static func pagesInLog(_ db: Database) throws -> Set<Int> {
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard let file, let methods = file.pointee.pMethods else { return [] }
        var size: sqlite3_int64 = 0
        try check(methods.pointee.xFileSize(file, &size))
        var header = [UInt8](repeating: 0, count: 32)
        guard size > header.count else { return [] }
        try check(methods.pointee.xRead(file, &header, CInt(header.count), 0))
        func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        let pageSize = Int64(number(header[8..<12]))
        var frame = [UInt8](repeating: 0, count: 24)
        var pages: Set<Int> = []
        for offset in stride(from: 32, to: size - 24 - pageSize + 1, by: Int(24 + pageSize)) {
            try check(methods.pointee.xRead(file, &frame, CInt(frame.count), offset))
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

    private static func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}
