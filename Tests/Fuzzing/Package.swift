// swift-tools-version: 6.2
import PackageDescription

/// One program for each target of NotifyFuzzing; `make fuzz` builds and runs them. It is a package of its own because a
/// program for a fuzzer has no main function, and is built with the fuzzer or not at all.
let targets = [
    "Publish", "Topic", "Configuration", "Record", "Frame", "Text", "Reply", "LinkMessage", "Map", "Tab",
    "Window", "Push", "Ntfy",
]

let package = Package(
    name: "Fuzzing",
    dependencies: [.package(name: "notifyd", path: "../..")],
    targets: targets.map { name in
        .executableTarget(
            name: "Fuzz\(name)",
            dependencies: [.product(name: "NotifyFuzzing", package: "notifyd")],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        )
    },
    swiftLanguageModes: [.v6]
)
