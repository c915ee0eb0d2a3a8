// swift-tools-version: 6.2
import Foundation
import PackageDescription

// A program that uses the packaged library, as somebody who has installed it would write it; only that the library is
// taken from the package before it is installed, so its place is told by the environment.
let library = ProcessInfo.processInfo.environment["NOTIFY_CLIENT"] ?? "/usr/share/swift/NotifyClient"

let package = Package(
    name: "program",
    dependencies: [.package(path: library)],
    targets: [
        .executableTarget(name: "program", dependencies: [.product(name: "NotifyClient", package: "NotifyClient")])
    ],
    swiftLanguageModes: [.v6]
)
