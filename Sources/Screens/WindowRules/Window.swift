import NotifyText

/// A window, as its desktop describes it.
public struct Window: Equatable, Sendable {
    /// Unicode scalars of a title that are looked at. A page chooses its title, and may choose a long one.
    public static let longestTitle = 512

    /// The number of the window at its source.
    public let id: UInt64
    /// The class part of `WM_CLASS`, or the `app_id`.
    public let app: String
    /// The instance part of `WM_CLASS`; empty where there is none.
    public let instance: String
    /// At most ``longestTitle`` scalars.
    public let title: String
    /// Whether it has the keyboard.
    public var isFocused: Bool
    /// Whether it is on the current desktop and not minimised. Another window may cover it.
    public var isVisible: Bool

    /// Cuts a long title.
    public init(
        id: UInt64, app: String, instance: String = "", title: String, isFocused: Bool = false, isVisible: Bool = true
    ) {
        self.id = id
        self.app = app
        self.instance = instance
        self.title = Self.cut(title)
        self.isFocused = isFocused
        self.isVisible = isVisible
    }

    private static func cut(_ title: String) -> String {
        guard title.utf8.count > longestTitle else { return title }
        return String(String.UnicodeScalarView(title.unicodeScalars.prefix(longestTitle)))
    }

    /// Texts are equal if their bytes are.
    public static func == (left: Window, right: Window) -> Bool {
        left.id == right.id && left.isFocused == right.isFocused && left.isVisible == right.isVisible
            && left.title.hasBytes(of: right.title) && left.app.hasBytes(of: right.app)
            && left.instance.hasBytes(of: right.instance)
    }
}
