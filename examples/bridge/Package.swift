// swift-tools-version: 6.2
import PackageDescription

// In a project of your own the dependency has an address.
let package = Package(
    name: "folder-bridge",
    dependencies: [.package(name: "notifyd", path: "../..")],
    targets: [
        .executableTarget(
            name: "folder-bridge",
            dependencies: [
                .product(name: "NotifyBridge", package: "notifyd"), .product(name: "NotifyClient", package: "notifyd"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
