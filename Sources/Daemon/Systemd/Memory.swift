internal import CSystemd
import Glibc
import NotifyText

/// The process's memory.
public enum Memory {
    /// Blocks of this size have their own pages, which are returned when the block is freed: M_MMAP_THRESHOLD of
    /// mallopt(3).
    ///
    /// It is the C library's initial threshold, which rises with every large block that is freed. A growing table
    /// would then leave its old copies behind as holes.
    private static let ownPages: CInt = 128 << 10

    /// Makes large blocks return to the system when they are freed. Call it before there are any.
    public static func keepLargeBlocksApart() { mallopt(M_MMAP_THRESHOLD, ownPages) }

    /// Returns free memory to the system, which the C library would keep; malloc_trim(3).
    public static func release() { malloc_trim(0) }

    /// Returns free memory, and takes the pages of code out of the process: MADV_DONTNEED of madvise(2). What runs on
    /// is mapped again from the page cache as it is called, and what only the start needs stays away.
    public static func releaseAll() {
        release()
        for (start, count) in codeMappings() { madvise(start, count, MADV_DONTNEED) }
    }

    /// How long after its start a program has done what it does only then.
    package static let startTime: Duration = .seconds(5)

    /// Releases all once the start is over. The source must be kept until then.
    package static func releaseAllAfterStart(on loop: EventLoop) throws(SystemdError) -> EventSource {
        let timer = try loop.timer(.monotonic) { releaseAll() }
        timer.arm(at: Clock.monotonic() + startTime.microseconds)
        return timer
    }

    /// Mappings of files that can be executed and not written: proc_pid_maps(5). What can be written holds what was
    /// written.
    private static func codeMappings() -> [(start: UnsafeMutableRawPointer, count: Int)] {
        guard let file = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(file) }
        var mappings: [(start: UnsafeMutableRawPointer, count: Int)] = []
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            // For example: 7f0a3c022000-7f0a3c17e000 r-xp 00022000 fe:00 131 /usr/lib/libc.so.6
            let words = String(cString: line).split(separator: " ")
            guard words.count >= 6, words[1] == "r-xp", words[5].hasPrefix("/") else { continue }
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, let start = UnsafeMutableRawPointer(bitPattern: ends[0]) else { continue }
            mappings.append((start, Int(ends[1] - ends[0])))
        }
        return mappings
    }
}
