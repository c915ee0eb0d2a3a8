import GRDB
import Glibc

/// The result of an integrity check of a large journal.
///
/// A check takes a second or more, and the start must not wait for it. A process of its own makes it, on a file that
/// does not change meanwhile: the journal writes to its log only. See `Journal.beginIntegrityCheck`.
public enum IntegrityCheck: Sendable, Equatable, LosslessStringConvertible {
    /// No damage; the number of events in the file.
    case sound(events: Int)
    /// Pages or indexes are damaged.
    case damaged
    /// The check could not be made.
    case failed

    /// Checks a file that does not change, at the lowest priority.
    ///
    /// - Parameter path: the result of `Journal.beginIntegrityCheck`.
    public init(of path: String) {
        // The unit's sandbox refuses this; the check then has the normal priority.
        _ = nice(19)
        var configuration = Configuration()
        configuration.readonly = true
        do {
            // Only this keeps SQLite from taking the locks that the daemon holds.
            let queue = try DatabaseQueue(path: FileCheck.uri(path, "immutable=1"), configuration: configuration)
            self = try queue.read { db in
                try FileCheck.isSound(db) ? .sound(events: Journal.countOfEvents(db)) : .damaged
            }
        } catch {
            self = JournalError(error) == .damaged ? .damaged : .failed
        }
    }

    // MARK: Text

    public var description: String {
        switch self {
        case .sound(let events): "sound \(events)"
        case .damaged: "damaged"
        case .failed: "failed"
        }
    }

    public init?(_ description: String) {
        let words = description.split(separator: " ")
        switch (words.first, words.count) {
        case ("sound", 2):
            guard let events = Int(words[1]), events >= 0 else { return nil }
            self = .sound(events: events)
        case ("damaged", 1): self = .damaged
        case ("failed", 1): self = .failed
        default: return nil
        }
    }
}

/// The integrity check of a large file. The file does not change meanwhile, because checkpoints are off.
extension Journal {
    /// Stops checkpoints until `endIntegrityCheck`.
    ///
    /// - Returns: the path for `IntegrityCheck.init(of:)`. Use that in another process: closing the file in this one
    ///   would release this process's locks.
    /// - Throws: if the checkpoint before the check fails; the journal is closed then.
    public func beginIntegrityCheck() throws(JournalError) -> String {
        try fold()
        guard queue != nil else { throw .other("the journal is closed") }
        try checkpoint(.truncate)
        countAtCheck = count
        isCheckpointingPaused = true
        return path
    }

    /// Takes the result of the check. It has no effect if the file was opened again since `beginIntegrityCheck`.
    ///
    /// - Parameter result: the result. If the check could not be made, the events are counted here, and damage is
    ///   noticed when it is read.
    /// - Throws: `JournalError.damaged`, with the journal closed. `reopen` then checks again, and rebuilds indexes or
    ///   sets the file aside.
    public func endIntegrityCheck(_ result: IntegrityCheck) throws(JournalError) {
        guard queue != nil, isCheckpointingPaused else { return }
        if result == .damaged { throw giveUp(JournalError.damaged) }
        try resumeCheckpointing(result)
        isChecked = true
    }

    /// Ends a check, or cancels it: its result has no effect then, and another may begin. The number of events comes
    /// from the result, or is counted.
    func resumeCheckpointing(_ result: IntegrityCheck) throws(JournalError) {
        isCheckpointingPaused = false
        if case .sound(let events) = result {
            count += events - countAtCheck
        } else {
            count = try readIndex { db in try Self.countOfEvents(db) } + pending.unindexedCount
        }
    }
}
