// swift-tools-version: 6.2
import PackageDescription

// In a project of your own the dependency has an address, or /usr/share/swift/NotifyClient of the Debian package.
let package = Package(
    name: "run-board",
    dependencies: [.package(name: "notifyd", path: "../..")],
    targets: [
        .executableTarget(name: "run-board", dependencies: [.product(name: "NotifyClient", package: "notifyd")])
    ],
    swiftLanguageModes: [.v6]
)
