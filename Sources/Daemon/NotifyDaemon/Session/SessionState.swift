/// What logind says of the user's sessions at a seat.
enum SessionState: Equatable {
    /// One of them is neither locked nor idle, or logind knows of none.
    case watched
    /// All are locked or idle.
    ///
    /// `idleSince` is when the last of them became idle, in microseconds since the epoch; `nil` if one was locked that was not idle:
    /// its user was there until then.
    case unwatched(idleSince: Int64?)
}
