internal import CSystemd

/// What the process takes of the machine's memory.
public enum Memory {
    /// Gives back what is free, of which the C library keeps nearly everything for later; malloc_trim(3).
    public static func release() {
        malloc_trim(0)
    }
}
