import WindowRules

extension X11Source {
    /// The properties that are read, and atoms in their values.
    ///
    /// They are numbers, because they are looked up at each change, and an enumeration of texts is compared as texts.
    enum Name: UInt8, CaseIterable {
        // Those of a window come first: see `bit`.
        case programClass, title, oldTitle, state, desktop
        case manager, clients, active, currentDesktop
        case hidden, utf8

        static let ofRoot: [Name] = [.manager, .currentDesktop, .active, .clients]
        static let ofWindow: [Name] = [.programClass, .title, .oldTitle, .state, .desktop]

        /// The bits of all properties of a window.
        static let allOfWindow: UInt8 = 1 << 5 - 1

        /// The name of the atom.
        var text: String {
            switch self {
            case .manager: "_NET_SUPPORTING_WM_CHECK"
            case .clients: "_NET_CLIENT_LIST"
            case .active: "_NET_ACTIVE_WINDOW"
            case .currentDesktop: "_NET_CURRENT_DESKTOP"
            case .desktop: "_NET_WM_DESKTOP"
            case .state: "_NET_WM_STATE"
            case .hidden: "_NET_WM_STATE_HIDDEN"
            case .title: "_NET_WM_NAME"
            case .oldTitle: "WM_NAME"
            case .programClass: "WM_CLASS"
            case .utf8: "UTF8_STRING"
            }
        }

        /// A bit for each property of a window; 0 for another one.
        var bit: UInt8 { isOfWindow ? 1 << rawValue : 0 }

        var isOfWindow: Bool {
            switch self {
            case .programClass, .title, .oldTitle, .state, .desktop: true
            case .manager, .clients, .active, .currentDesktop, .hidden, .utf8: false
            }
        }

        var isOfRoot: Bool {
            switch self {
            case .manager, .clients, .active, .currentDesktop: true
            case .programClass, .title, .oldTitle, .state, .desktop, .hidden, .utf8: false
            }
        }

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
        /// Whether it may have changed since windows were told.
        var hasChanged = false
        /// The bits of the properties that have not come yet.
        var unknown = Name.allOfWindow

        /// Whether all properties have come.
        var isKnown: Bool { unknown == 0 }
    }
}
