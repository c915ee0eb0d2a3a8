import Routing

/// Schedules: the router is told which are on, and the host when that changes.
struct ScheduleState {
    /// What the router was told last.
    let active: [Schedule.Snapshot.Active]
    /// The wall clock less the clock of lifetimes, when the router was told.
    let lead: Int64
}

extension Daemon {
    /// How far the wall clock may be off, in microseconds, before the ends of periods are told anew.
    private static var clockTolerance: Int64 { 100_000 }

    /// Called at the start, when a period begins or ends, and when the configuration, the clock or the time zone has changed.
    func updateSchedules() {
        let schedules = configuration.schedules
        guard !schedules.isEmpty || scheduleState != nil else { return }
        let clock = clock
        let snapshot = Schedule.snapshot(of: schedules, at: clock.wall, in: host.calendar)
        host.armWallTimer(at: snapshot.next)
        let lead = clock.wall - clock.now.uptime.microseconds
        if let told = scheduleState, told.active == snapshot.active, abs(lead - told.lead) <= Self.clockTolerance {
            return
        }
        scheduleState = ScheduleState(active: snapshot.active, lead: lead)
        handle(
            .scheduled(
                snapshot.active.map {
                    ActiveSchedule($0.period, ends: Uptime(microseconds: $0.ends - lead), hasDigest: $0.hasDigest)
                }))
        host.endTurnWhenIdle()
    }
}
