import Glibc
import Systemd
import Testing

struct MemoryTests {
    /// Pages of files that are in memory, in KiB; proc_pid_status(5).
    private func residentFilePages() throws -> Int {
        let file = try #require(fopen("/proc/self/status", "re"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, CInt(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            if words.first == "RssFile:" { return try #require(Int(words[1])) }
        }
        throw CancellationError()
    }

    /// The program goes on, with less of its code in memory.
    @Test func codeThatDoesNotRunLeavesTheProcess() throws {
        let before = try residentFilePages()
        Memory.releaseCode()
        #expect(try residentFilePages() < before)
    }
}
