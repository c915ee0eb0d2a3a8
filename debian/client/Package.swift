// swift-tools-version: 6.2
import PackageDescription

/// Those of the main Package.swift that give the sources their meaning.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The client library alone, as it is installed under /usr/share/swift/NotifyClient.
let package = Package(
    name: "NotifyClient",
    products: [.library(name: "NotifyClient", targets: ["NotifyClient"])],
    targets: [
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .target(name: "NotifyText", swiftSettings: settings),
        .target(name: "UserFiles", swiftSettings: settings),
        .target(
            name: "NotifyClient", dependencies: ["CDBus", "NotifyText", "UserFiles"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
