import Glibc

extension ConfigurationFiles {
    /// Changes when a file is written, added or removed.
    struct Fingerprint: Equatable {
        fileprivate struct File: Equatable {
            var path: String
            /// Device, inode, size, and the time of the last change.
            var facts: [UInt64]
        }

        fileprivate var files: [File]
    }

    static func fingerprint(only file: String? = nil) -> Fingerprint {
        Fingerprint(
            files: (file.map { [$0] } ?? paths()).map { path in
                var status = stat()
                guard stat(path, &status) == 0 else { return Fingerprint.File(path: path, facts: []) }
                return Fingerprint.File(
                    path: path,
                    facts: [
                        UInt64(status.st_dev), UInt64(status.st_ino), UInt64(bitPattern: Int64(status.st_size)),
                        UInt64(bitPattern: Int64(status.st_ctim.tv_sec)),
                        UInt64(bitPattern: Int64(status.st_ctim.tv_nsec)),
                    ])
            })
    }
}
