import NotifyText
import Patterns

/// A window, as its desktop describes it.
public struct Window: Equatable, Sendable {
    /// Unicode scalars of a title that are looked at. A page chooses its title, and may choose a long one.
    public static let longestTitle = Pattern.longestSubject

    /// The number of the window at its source.
    public let id: UInt64
    /// Its number at the X server, as `$WINDOWID` says it; `nil` if it is no window of an X program, or not known.
    public let number: UInt64?
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
        id: UInt64, number: UInt64? = nil, app: String, instance: String = "", title: String, isFocused: Bool = false,
        isVisible: Bool = true
    ) {
        self.id = id
        self.number = number
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
        left.id == right.id && left.number == right.number && left.isFocused == right.isFocused
            && left.isVisible == right.isVisible
            && left.title.hasBytes(of: right.title) && left.app.hasBytes(of: right.app)
            && left.instance.hasBytes(of: right.instance)
    }
}
