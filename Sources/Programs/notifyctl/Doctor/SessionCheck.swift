/// Whether notifyd can detect that the session is locked or idle.
struct SessionCheck {
    var hasLogin = false
    /// Whether a session is in use, according to notifyd; `nil` if it does not run.
    var isWatched: Bool?
    /// Whether notifyd has found a session at a seat; `nil` if it does not run, or is an older version.
    var isKnown: Bool?
    /// Whether the user's services go on without a session; loginctl(1), enable-linger.
    var lingers = false

    var finding: Finding {
        let unnoticed = "a lock is never noticed, but by notifyd-focus and browsers where they know the locker"
        let state =
            if !hasLogin {
                "no logind: \(unnoticed)"
            } else if isKnown == false {
                "logind knows no session of yours at a seat: \(unnoticed)"
            } else if isWatched == false {
                "locked or idle: every screen counts as hidden"
            } else {
                isWatched == nil ? "logind is there" : "watched by way of logind, as far as your locker tells it"
            }
        return .ok("session", lingers ? state + "; lingering, so notifyd keeps running after you log out" : state)
    }
}
