/// Whether notifyd can tell that nobody looks.
struct SessionCheck {
    /// Whether logind is on the system bus.
    var hasLogin = false
    /// What notifyd says; `nil` where it does not run.
    var isWatched: Bool?
    /// Whether the user's services go on without a session; loginctl(1), enable-linger.
    var lingers = false

    var finding: Finding {
        let state =
            !hasLogin
            ? "no logind: notifyd takes it that somebody is always looking"
            : isWatched == false ? "locked or idle: every screen counts as hidden" : "watched by way of logind"
        return .ok("session", lingers ? state + "; lingering, so notifyd goes on after you log out" : state)
    }
}
