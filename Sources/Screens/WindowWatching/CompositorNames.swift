/// KWin on the bus.
enum KWinName {
    static let bus = "org.kde.KWin"
    /// In `XDG_CURRENT_DESKTOP`.
    static let desktop = "KDE"
    static func isProgram(_ name: String) -> Bool { name.hasPrefix("kwin_") }
    static let advice = "KWin does not run the script that tells of its windows; its log says why"
}

/// GNOME Shell on the bus.
enum GNOMEName {
    static let bus = "org.gnome.Shell"
    /// In `XDG_CURRENT_DESKTOP`.
    static let desktop = "GNOME"
    static func isProgram(_ name: String) -> Bool { name == "gnome-shell" }
    static let advice = """
        GNOME Shell tells of its windows with an extension: gnome-extensions enable notifyd-focus@notifyd.org (up to GNOME 44 \
        notifyd-focus-43@notifyd.org), then log out and in again
        """
}
