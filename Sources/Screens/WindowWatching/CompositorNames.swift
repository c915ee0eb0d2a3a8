/// KWin on the bus.
enum KWinName {
    static let bus = "org.kde.KWin"
}

/// GNOME Shell on the bus.
enum GNOMEName {
    static let bus = "org.gnome.Shell"
}
