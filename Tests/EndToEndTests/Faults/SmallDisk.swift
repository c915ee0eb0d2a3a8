import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal

/// A disk in memory, which outlives the daemons whose state is on it. Only root can make one.
final class SmallDisk {
    let path: String
    private let folder: TemporaryFolder

    init(mebibytes: Int) throws {
        folder = try TemporaryFolder()
        path = folder.path + "/disk"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("none", path, "tmpfs", 0, "size=\(mebibytes)m,mode=700") == 0 else {
            throw RehearsalError("\(path) cannot be mounted: \(String(cString: strerror(errno)))")
        }
    }

    /// Has another program take all that is free.
    ///
    /// - Returns: what it wrote.
    @discardableResult
    func takeRest() throws -> String {
        let filler = path + "/filler"
        let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw RehearsalError("\(filler) cannot be written") }
        defer { close(file) }
        let page = [UInt8](repeating: 1, count: 4096)
        while write(file, page, page.count) > 0 {}
        return filler
    }

    /// The free bytes.
    var free: Int {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return 0 }
        return Int(space.f_bavail) * Int(space.f_frsize)
    }

    func remove() {
        umount2(path, Int32(MNT_DETACH))
        folder.remove()
    }
}
