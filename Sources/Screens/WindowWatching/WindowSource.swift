public import WindowRules

/// Follows the windows of one kind of desktop, as long as the object exists. Everything it says, it says on the loop.
public protocol WindowSource: AnyObject {}

/// What a source says.
public enum SourceReport {
    /// The windows have changed.
    case windows([Window])
    /// Single windows may have changed, at their places among those that were told last. Whoever keeps these can change
    /// them in place: with a thousand windows, to copy all of them for each change would cost most of the time.
    case changes([(place: Int, window: Window)])
    /// It follows nothing at the moment; a sentence for people, with what to do.
    case blind(String)
    /// It has ended; a sentence for people. The object may be dropped at once.
    case ended(String)
}

/// Why a source cannot follow windows: a sentence for people.
public struct SourceFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
