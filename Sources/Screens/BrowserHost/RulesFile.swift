import Glibc
package import TOMLTables
package import TabRules

/// The rules, read again after browser.toml has changed. It is looked at when a tab changes, so that nothing wakes the
/// host.
package struct RulesFile {
    private struct Version: Equatable {
        let file: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    package let path: String
    /// With a mistake in the file, those from before it.
    package private(set) var rules = TabRules()
    package private(set) var mistake: ConfigurationError?
    private var version: Version?
    private var isRead = false

    package init(path: String) {
        self.path = path
    }

    /// Reads the file if it has changed.
    ///
    /// - Returns: whether it has.
    package mutating func refresh() -> Bool {
        var status = stat()
        var now: Version?
        if stat(path, &status) == 0 {
            now = Version(
                file: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
                nanoseconds: status.st_mtim.tv_nsec)
        }
        guard !isRead || now != version else { return false }
        isRead = true
        version = now
        do throws(ConfigurationError) {
            rules =
                try ConfigurationText.read(path).map { text throws(ConfigurationError) in
                    try TabRules.read(file: path, text: text)
                } ?? TabRules()
            mistake = nil
        } catch {
            mistake = error
        }
        return true
    }
}
