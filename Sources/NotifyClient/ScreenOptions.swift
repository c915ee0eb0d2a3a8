/// What `OpenScreen` and `UpdateScreen` take; `nil` is left as it is.
struct ScreenOptions: Sendable {
    var mode: Screen.Mode?
    var state: Screen.State?
    var lease: Duration?
    var clear: Bool?

    func updated(by change: ScreenOptions) -> ScreenOptions {
        ScreenOptions(
            mode: change.mode ?? mode, state: change.state ?? state, lease: change.lease ?? lease,
            clear: change.clear ?? clear)
    }

    /// Whether somebody has to answer for the screen.
    var asks: Bool { mode == .ask && state != .hidden }

    func values() throws(NotifyError) -> Value {
        var values: [String: Value] = [:]
        values["mode"] = mode.map { .string($0.rawValue) }
        values["state"] = state.map { .string($0.rawValue) }
        values["lease"] = try lease?.argument(in: .seconds(1), "A lease is 0 seconds to 136 years long.")
        values["clear"] = clear.map(Value.boolean)
        return .variants(values)
    }
}
