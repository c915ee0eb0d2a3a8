/// The exit codes, of which those beside 0 are from sysexits.h.
enum FocusExit {
    static let success: Int32 = 0
    static let wrongUsage: Int32 = 64
    /// Another one runs on this bus.
    static let nameTaken: Int32 = 69
    /// A system call failed unexpectedly.
    static let systemFailure: Int32 = 71
    /// The output cannot be written.
    static let outputFailed: Int32 = 74
    /// The bus cannot be reached or is gone; a restart may help.
    static let busLost: Int32 = 75
    static let badConfiguration: Int32 = 78
}
