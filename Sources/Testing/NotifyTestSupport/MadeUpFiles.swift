import CStorage
import Foundation
import Glibc
import Journal

/// The files that SQLite has on disks that are made up, by a VFS of its own.
///
/// It is the default VFS of the process, and leaves all directories but those of such disks to the usual one. It knows
/// no locks, and no shared memory: SQLite needs neither in exclusive locking mode.
package enum MadeUpFiles {
    private static let lock = NSLock()
    nonisolated(unsafe) private static var disks: [String: MadeUpDisk] = [:]
    nonisolated(unsafe) private static let usual = sqlite3_vfs_find(nil)!
    private static let registration: Void = {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: usual.pointee)
        vfs.pointee.pNext = nil
        vfs.pointee.zName = UnsafePointer(strdup("made-up"))
        vfs.pointee.szOsFile = max(usual.pointee.szOsFile, CInt(MemoryLayout<OpenFile>.size))
        vfs.pointee.xOpen = { _, name, file, flags, out in
            guard let name, let file, let place = place(name) else {
                return usual.pointee.xOpen(usual, name, file, flags, out)
            }
            return open(place.file, on: place.disk, file, flags)
        }
        vfs.pointee.xDelete = { _, name, isSynced in
            guard let name, let place = place(name) else { return usual.pointee.xDelete(usual, name, isSynced) }
            do throws(JournalError) {
                try place.disk.remove(place.file)
                if isSynced != 0 { try place.disk.syncDirectory() }
                return SQLITE_OK
            } catch {
                return IOError.delete.code
            }
        }
        vfs.pointee.xAccess = { _, name, flags, result in
            guard let name, let place = place(name) else { return usual.pointee.xAccess(usual, name, flags, result) }
            result?.pointee = place.disk[place.file] == nil ? 0 : 1
            return SQLITE_OK
        }
        sqlite3_vfs_register(vfs, 1)
    }()

    /// Has a disk stand in for a directory, which must exist; `nil`: none any more.
    package static func put(_ disk: MadeUpDisk?, inPlaceOf directory: String) {
        _ = registration
        lock.withLock { disks[directory] = disk }
    }

    private static func place(_ path: UnsafePointer<CChar>) -> (disk: MadeUpDisk, file: String)? {
        let path = String(cString: path)
        guard let slash = path.lastIndex(of: "/") else { return nil }
        lock.lock()
        defer { lock.unlock() }
        return disks[String(path[..<slash])].map { ($0, String(path[path.index(after: slash)...])) }
    }

    /// SQLite's codes for errors of calls, which are macros that Swift does not see.
    private enum IOError: CInt {
        case read = 1
        case shortRead, write, sync
        case truncate = 6
        case size
        case delete = 10

        var code: CInt { SQLITE_IOERR | rawValue << 8 }
    }

    /// What SQLite has room for in its `sqlite3_file`.
    private struct OpenFile {
        var base: sqlite3_file
        var file: Unmanaged<Handle>
    }

    private final class Handle {
        let file: MadeUpDisk.File
        var lastError: CInt = 0

        init(_ file: MadeUpDisk.File) {
            self.file = file
        }
    }

    private static func open(
        _ name: String, on disk: MadeUpDisk, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: CInt
    ) -> CInt {
        file.pointee.pMethods = nil
        do throws(JournalError) {
            var opened = try disk.openFile(name, .writing)
            if opened == nil, flags & SQLITE_OPEN_CREATE != 0 { opened = try disk.openFile(name, .making) }
            guard let opened else { return SQLITE_CANTOPEN }
            UnsafeMutableRawPointer(file).initializeMemory(
                as: OpenFile.self,
                to: OpenFile(base: sqlite3_file(pMethods: methods), file: Unmanaged.passRetained(Handle(opened))))
            return SQLITE_OK
        } catch {
            return SQLITE_CANTOPEN
        }
    }

    private static func handle(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<Handle> {
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: OpenFile.self).pointee.file
    }

    /// - Parameter code: what SQLite calls an error of this call.
    private static func call(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ code: IOError,
        _ body: (MadeUpDisk.File) throws(JournalError) -> CInt
    ) -> CInt {
        let handle = handle(file).takeUnretainedValue()
        do throws(JournalError) { return try body(handle.file) } catch {
            switch error {
            case .diskFull:
                handle.lastError = ENOSPC
                return SQLITE_FULL
            case .readOnly: handle.lastError = EROFS
            default: handle.lastError = EIO
            }
            return code.code
        }
    }

    nonisolated(unsafe) private static let methods: UnsafePointer<sqlite3_io_methods> = {
        var methods = sqlite3_io_methods()
        methods.iVersion = 1
        methods.xClose = { file in
            handle(file).takeRetainedValue().file.close()
            return SQLITE_OK
        }
        methods.xRead = { file, buffer, count, offset in
            call(file, .read) { file throws(JournalError) in
                let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
                let read = try file.read(into: buffer, at: Int(offset))
                guard read < buffer.count else { return SQLITE_OK }
                memset(buffer.baseAddress! + read, 0, buffer.count - read)
                return IOError.shortRead.code
            }
        }
        methods.xWrite = { file, bytes, count, offset in
            call(file, .write) { file throws(JournalError) in
                precondition(count == count & 0x1ffff, "SQLite writes less than 128 KiB at once; it is \(count) bytes")
                try file.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
                return SQLITE_OK
            }
        }
        methods.xTruncate = { file, size in
            call(file, .truncate) { file throws(JournalError) in
                try file.truncate(to: Int(size))
                return SQLITE_OK
            }
        }
        methods.xSync = { file, _ in
            call(file, .sync) { file throws(JournalError) in
                try file.sync()
                // As the usual one does after it has made a file beside the database.
                if file.name.hasSuffix("-wal") { try file.disk.syncDirectory() }
                return SQLITE_OK
            }
        }
        methods.xFileSize = { file, size in
            call(file, .size) { file throws(JournalError) in
                size?.pointee = Int64(try file.size())
                return SQLITE_OK
            }
        }
        methods.xLock = { _, _ in SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        methods.xCheckReservedLock = { _, result in
            result?.pointee = 0
            return SQLITE_OK
        }
        methods.xFileControl = { file, operation, argument in
            guard operation == SQLITE_FCNTL_LAST_ERRNO else { return SQLITE_NOTFOUND }
            argument?.assumingMemoryBound(to: CInt.self).pointee = handle(file).takeUnretainedValue().lastError
            return SQLITE_OK
        }
        methods.xSectorSize = { _ in 4096 }
        methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        pointer.initialize(to: methods)
        return UnsafePointer(pointer)
    }()
}
