import GRDBSQLite
import Glibc

/// Writes the log of a transaction with one call. SQLite itself makes two for each page.
///
/// It is a layer over SQLite's own file system, and changes nothing but the log: what SQLite writes there is collected until SQLite
/// asks for it to be on disk, or reads. Nothing relies on a log that is not on disk, so a crash loses no more than without the
/// layer.
///
/// See [The SQLite OS Interface or "VFS"](https://sqlite.org/vfs.html).
enum BufferedLog {
    /// What SQLite allocates for a log: this, and behind it the file of the layer below.
    private struct File {
        var base = sqlite3_file()
        /// Bytes that are not written yet; `start` is their offset in the file, `count` their number.
        var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        var start: sqlite3_int64 = 0
        var count = 0
    }

    /// Of what is collected, in bytes. A longer transaction is written in parts. SQLite writes less than 128 KiB at a time.
    private static let capacity = 64 << 10

    nonisolated(unsafe) private static let below = sqlite3_vfs_find(nil)!
    nonisolated(unsafe) private static let methods = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        // Version 1 is what SQLite needs of a log.
        methods.pointee.iVersion = 1
        methods.pointee.xClose = { close($0!) }
        methods.pointee.xRead = { file, bytes, count, offset in
            // After a transaction that failed the rest can still be read.
            let isBuffered = isBuffered(file!, offset..<offset + Int64(count))
            return call(file!, flushing: isBuffered) { $1.xRead($0, bytes, count, offset) }
        }
        methods.pointee.xWrite = { write($0!, UnsafeRawBufferPointer(start: $1, count: Int($2)), at: $3) }
        methods.pointee.xTruncate = { file, size in call(file!, flushing: true) { $1.xTruncate($0, size) } }
        methods.pointee.xSync = { file, flags in call(file!, flushing: true) { $1.xSync($0, flags) } }
        methods.pointee.xFileSize = { file, size in call(file!, flushing: true) { $1.xFileSize($0, size) } }
        methods.pointee.xLock = { file, level in call(file!) { $1.xLock($0, level) } }
        methods.pointee.xUnlock = { file, level in call(file!) { $1.xUnlock($0, level) } }
        methods.pointee.xCheckReservedLock = { file, answer in call(file!) { $1.xCheckReservedLock($0, answer) } }
        methods.pointee.xFileControl = { file, command, argument in
            call(file!) { $1.xFileControl($0, command, argument) }
        }
        methods.pointee.xSectorSize = { file in call(file!) { $1.xSectorSize($0) } }
        methods.pointee.xDeviceCharacteristics = { file in call(file!) { $1.xDeviceCharacteristics($0) } }
        return UnsafePointer(methods)
    }()

    /// Makes the layer the file system of this process, once. Without it everything works, more slowly.
    static let isInstalled: Bool = {
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: below.pointee)
        layer.pointee.zName = UnsafePointer(strdup("notifyd"))
        layer.pointee.szOsFile += Int32(MemoryLayout<File>.stride)
        layer.pointee.xOpen = { _, name, file, flags, result in
            guard flags & SQLITE_OPEN_WAL != 0 else { return below.pointee.xOpen(below, name, file, flags, result) }
            return open(file!, name, flags, result)
        }
        return sqlite3_vfs_register(layer, 1) == SQLITE_OK
    }()

    private static func state(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<File> {
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: File.self)
    }

    /// Calls a method of the file below.
    ///
    /// - Parameters:
    ///   - file: the log.
    ///   - isFlushing: whether what is collected is written first.
    ///   - method: called with the file below and its methods.
    private static func call(
        _ file: UnsafeMutablePointer<sqlite3_file>, flushing isFlushing: Bool = false,
        _ method: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) -> Int32
    ) -> Int32 {
        let result = isFlushing ? flush(file) : SQLITE_OK
        guard result == SQLITE_OK else { return result }
        let real = UnsafeMutableRawPointer(state(file) + 1).assumingMemoryBound(to: sqlite3_file.self)
        return method(real, real.pointee.pMethods.pointee)
    }

    private static func open(
        _ file: UnsafeMutablePointer<sqlite3_file>, _ name: sqlite3_filename?, _ flags: Int32,
        _ flagsFound: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let state = UnsafeMutableRawPointer(file).bindMemory(to: File.self, capacity: 1)
        state.initialize(to: File())
        let real = UnsafeMutableRawPointer(state + 1).bindMemory(to: sqlite3_file.self, capacity: 1)
        real.pointee.pMethods = nil
        let result = below.pointee.xOpen(below, name, real, flags, flagsFound)
        // SQLite closes a file that has methods, also after an error.
        if real.pointee.pMethods != nil { state.pointee.base.pMethods = methods }
        return result
    }

    /// What was not to be on disk yet belongs to a transaction that was given up.
    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>) -> Int32 {
        state(file).pointee.bytes.deallocate()
        return call(file) { $1.xClose($0) }
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>, _ bytes: UnsafeRawBufferPointer, at offset: sqlite3_int64
    ) -> Int32 {
        let state = state(file)
        if offset != state.pointee.start + Int64(state.pointee.count) || state.pointee.count + bytes.count > capacity {
            let result = flush(file)
            guard result == SQLITE_OK else { return result }
        }
        guard bytes.count <= capacity else {
            return call(file) { $1.xWrite($0, bytes.baseAddress, Int32(bytes.count), offset) }
        }
        if state.pointee.bytes.isEmpty { state.pointee.bytes = .allocate(byteCount: capacity, alignment: 16) }
        if state.pointee.count == 0 { state.pointee.start = offset }
        UnsafeMutableRawBufferPointer(rebasing: state.pointee.bytes[state.pointee.count...]).copyMemory(from: bytes)
        state.pointee.count += bytes.count
        return SQLITE_OK
    }

    private static func isBuffered(
        _ file: UnsafeMutablePointer<sqlite3_file>, _ range: Range<sqlite3_int64>
    ) -> Bool {
        let start = state(file).pointee.start
        return range.overlaps(start..<start + Int64(state(file).pointee.count))
    }

    /// Writes what is collected. After an error it is dropped: SQLite rolls the transaction back.
    private static func flush(_ file: UnsafeMutablePointer<sqlite3_file>) -> Int32 {
        let (bytes, start, count) = (state(file).pointee.bytes, state(file).pointee.start, state(file).pointee.count)
        guard count > 0 else { return SQLITE_OK }
        let result = call(file) { $1.xWrite($0, bytes.baseAddress, Int32(count), start) }
        state(file).pointee.count = 0
        return result
    }
}
