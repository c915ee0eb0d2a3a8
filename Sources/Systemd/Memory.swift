internal import CSystemd

/// What the process takes of the machine's memory.
public enum Memory {
    /// From which size on a block has pages of its own, which go back when it is freed: M_MMAP_THRESHOLD of mallopt(3).
    ///
    /// It is the C library's own to begin with, but that raises it with every large block that is freed. A table that doubles
    /// as it grows would then leave all its former selves behind as holes.
    private static let ownPages: CInt = 128 << 10

    /// Has large blocks go back to the system as soon as they are free. To be called before there are any.
    public static func keepLargeBlocksApart() {
        mallopt(M_MMAP_THRESHOLD, ownPages)
    }

    /// Gives back what is free, of which the C library keeps nearly everything for later; malloc_trim(3).
    public static func release() {
        malloc_trim(0)
    }
}
