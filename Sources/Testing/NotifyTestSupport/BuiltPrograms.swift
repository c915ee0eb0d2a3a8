/// The programs of this package, as they were built together with the tests.
package enum BuiltPrograms {
    package static let notifyd = path("notifyd")
    package static let notifyctl = path("notifyctl")
    package static let notifyload = path("notifyload")
    package static let notifydMQTT = path("notifyd-mqtt")
    package static let notifydBrowser = path("notifyd-browser")
    package static let notifydDesktop = path("notifyd-desktop")
    package static let notifydFocus = path("notifyd-focus")
    package static let notifydUnifiedPush = path("notifyd-unifiedpush")
    /// The bridge of the tutorial.
    package static let folderBridge = path("FolderBridge")

    /// Programs lie beside the bundle of the tests, which is either what runs or what is given to a helper that runs
    /// it.
    private static func path(_ name: String) -> String {
        guard let bundle = CommandLine.arguments.first(where: { $0.hasSuffix(".xctest") }),
            let slash = bundle.lastIndex(of: "/")
        else { return name }
        return bundle[...slash] + name
    }
}
