import WindowRules

extension X11Source {
    /// The properties that are read, and atoms in their values.
    enum Name: String, CaseIterable {
        case manager = "_NET_SUPPORTING_WM_CHECK"
        case clients = "_NET_CLIENT_LIST"
        case active = "_NET_ACTIVE_WINDOW"
        case currentDesktop = "_NET_CURRENT_DESKTOP"
        case desktop = "_NET_WM_DESKTOP"
        case state = "_NET_WM_STATE"
        case hidden = "_NET_WM_STATE_HIDDEN"
        case title = "_NET_WM_NAME"
        case oldTitle = "WM_NAME"
        case programClass = "WM_CLASS"
        case utf8 = "UTF8_STRING"

        static let ofRoot: [Name] = [.manager, .currentDesktop, .active, .clients]
        static let ofWindow: [Name] = [.programClass, .title, .oldTitle, .state, .desktop]

        /// The bits of all properties of a window.
        static let allOfWindow: UInt8 = 1 << ofWindow.count - 1

        /// A bit for each property of a window; 0 for another one.
        var bit: UInt8 { Self.ofWindow.firstIndex(of: self).map { 1 << UInt8($0) } ?? 0 }

        /// Bytes that are read.
        var longest: Int {
            switch self {
            case .clients: 4 * 4096
            // A scalar has four bytes at most.
            case .title, .oldTitle: 4 * Window.longestTitle
            default: 1024
            }
        }
    }

    /// What is known of a window.
    struct Client {
        var title = ""
        var instance = ""
        var programClass = ""
        var desktop: UInt32 = X11Source.everyDesktop
        /// Where it is in what was told; -1: nowhere.
        var place: Int32 = -1
        var isHidden = false
        /// Whether it has no title but the old one, of which programs keep a copy.
        var hasOldTitle = true
        /// The bits of the properties that have not come yet.
        var unknown = Name.allOfWindow

        /// Whether all properties have come.
        var isKnown: Bool { unknown == 0 }
    }
}
