import Glibc

struct ProcessFacts: Equatable {
    var gainsNoPrivileges = false
    var filtersCalls = false
    /// Whether it has a user namespace other than ours.
    var hasOwnUsers = false
}

extension ProcessFacts {
    /// - Returns: `nil` if the process is gone or belongs to another user.
    init?(of process: Int) {
        guard let status = FileFacts.text(of: "/proc/\(process)/status"),
            let users = FileFacts.link(at: "/proc/\(process)/ns/user"),
            let ours = FileFacts.link(at: "/proc/self/ns/user")
        else { return nil }
        func isSet(_ name: String, to value: String) -> Bool {
            status.split(separator: "\n").contains("\(name):\t\(value)")
        }
        self.init(
            gainsNoPrivileges: isSet("NoNewPrivs", to: "1"), filtersCalls: isSet("Seccomp", to: "2"),
            hasOwnUsers: users != ours)
    }

    /// The number of the process that has started a process; 1 if that is gone.
    static func parent(of process: String) -> String? {
        let line = FileFacts.text(of: "/proc/\(process)/status")?.split(separator: "\n").first { $0.hasPrefix("PPid:") }
        return line?.split(separator: "\t").last.map(String.init)
    }

    static func environment(of process: Int) -> [String: String]? {
        guard let text = FileFacts.text(of: "/proc/\(process)/environ") else { return nil }
        return variables(text.split(separator: "\0").map(String.init))
    }

    /// - Parameter lines: such as `HOME=/home/mina`.
    static func variables(_ lines: [String]) -> [String: String] {
        var variables: [String: String] = [:]
        for line in lines {
            guard let equals = line.firstIndex(of: "=") else { continue }
            variables[String(line[..<equals])] = String(line[line.index(after: equals)...])
        }
        return variables
    }
}

enum FileFacts {
    static func text(of path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        let count = fread(&bytes, 1, bytes.count, file)
        return ferror(file) == 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    static func link(at path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = buffer.withUnsafeMutableBytes {
            readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return length > 0 ? String(decoding: buffer[..<length], as: UTF8.self) : nil
    }

    /// The permissions of a file or folder, or `nil` if it cannot be read.
    static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// The free bytes for this user on the disk of a path.
    static func room(at path: String) -> UInt64? {
        var space = statvfs()
        return statvfs(path, &space) == 0 ? UInt64(space.f_bavail) * UInt64(space.f_frsize) : nil
    }

    static func names(in folder: String) -> [String] {
        guard let handle = opendir(folder) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
                })
        }
        return names.sorted()
    }
}
