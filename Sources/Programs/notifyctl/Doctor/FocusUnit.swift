import NotifyClient

/// What the service manager says of notifyd-focus.service and of the desktop; org.freedesktop.systemd1(5).
struct FocusUnit {
    /// What a desktop runs that does not start `graphical-session.target`.
    static let start = """
        systemctl --user import-environment DISPLAY WAYLAND_DISPLAY SWAYSOCK I3SOCK XAUTHORITY && \
        systemctl --user restart notifyd-focus
        """

    /// Whether it is started with `graphical-session.target`.
    var isEnabled = false
    var hasFailed = false
    /// Whether `graphical-session.target` is reached.
    var isSessionActive = false
    /// Whether the service manager knows of a display.
    var hasDisplay = false

    /// - Returns: `nil` without a service manager.
    static func ask(_ query: BusQuery) async -> FocusUnit? {
        guard let environment = await query.managerEnvironment() else { return nil }
        var unit = FocusUnit()
        unit.hasDisplay = environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil
        let file = try? await query.askManager("GetUnitFileState", ["notifyd-focus.service"])?.string
        unit.isEnabled = file?.hasPrefix("enabled") ?? false
        unit.hasFailed = await state(of: "notifyd-focus.service", query) == "failed"
        unit.isSessionActive = await state(of: "graphical-session.target", query) == "active"
        return unit
    }

    private static func state(of name: String, _ query: BusQuery) async -> String? {
        guard let path = try? await query.askManager("LoadUnit", [.string(name)])?.string else { return nil }
        return await query.properties(UnitCheck.manager, path, "\(UnitCheck.manager).Unit")["ActiveState"]?.string
    }
}
