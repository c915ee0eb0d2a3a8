internal import CSystemd

/// The process's memory.
public enum Memory {
    /// Blocks of this size have their own pages, which are returned when the block is freed: M_MMAP_THRESHOLD of
    /// mallopt(3).
    ///
    /// It is the C library's initial threshold, which rises with every large block that is freed. A growing table
    /// would then leave its old copies behind as holes.
    private static let ownPages: CInt = 128 << 10

    /// Makes large blocks return to the system when they are freed. Call it before there are any.
    public static func keepLargeBlocksApart() {
        mallopt(M_MMAP_THRESHOLD, ownPages)
    }

    /// Returns free memory to the system, which the C library would keep; malloc_trim(3).
    public static func release() {
        malloc_trim(0)
    }
}
