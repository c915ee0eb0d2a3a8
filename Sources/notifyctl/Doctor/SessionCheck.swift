/// Whether notifyd can tell that nobody looks.
struct SessionCheck {
    /// Whether logind is on the system bus.
    var hasLogin = false
    /// What notifyd says; `nil` where it does not run.
    var isWatched: Bool?
    /// Whether notifyd has found a session at a seat; `nil` where it does not run, or does not say.
    var isKnown: Bool?
    /// Whether the user's services go on without a session; loginctl(1), enable-linger.
    var lingers = false

    var finding: Finding {
        let state =
            if !hasLogin {
                "no logind: a lock is never noticed, and screens always count"
            } else if isKnown == false {
                "logind knows no session of yours at a seat: a lock is never noticed, and screens always count"
            } else if isWatched == false {
                "locked or idle: every screen counts as hidden"
            } else {
                isWatched == nil ? "logind is there" : "watched by way of logind"
            }
        return .ok("session", lingers ? state + "; lingering, so notifyd goes on after you log out" : state)
    }
}
