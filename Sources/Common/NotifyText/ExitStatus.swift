/// How programs of notifyd end; the codes below 128 beside 0 and 1 are from sysexits.h.
package enum ExitStatus {
    package static let success: Int32 = 0
    package static let failure: Int32 = 1
    package static let wrongUsage: Int32 = 64
    /// The state was written by a newer version.
    package static let badData: Int32 = 65
    /// There is no journal to give a new device to.
    package static let noJournal: Int32 = 66
    /// Another process owns the name on the bus, or has the state.
    package static let nameTaken: Int32 = 69
    /// A system call failed unexpectedly, or the state cannot be read or written.
    package static let systemFailure: Int32 = 71
    /// The output cannot be written.
    package static let outputFailed: Int32 = 74
    /// The bus cannot be reached or is gone; a restart may help.
    package static let busLost: Int32 = 75
    package static let badConfiguration: Int32 = 78
}
