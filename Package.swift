// swift-tools-version: 6.2
import PackageDescription

/// Every target of this package is held to the same strictness. A warning is an error, here and in CI alike.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// Steps at which a test can kill the daemon or a bridge: in what is built for development, and never in what is
/// installed.
let failpoints: SwiftSetting = .define("FAILPOINTS", .when(configuration: .debug))

/// What is installed takes less memory: the places to be relocated take a bit each instead of 24 bytes, which only
/// LLVM's linker can, and no symbol is exported, since nothing is loaded that could ask for one.
let compact: LinkerSetting = .unsafeFlags(
    ["-use-ld=lld"]
        + ["-z", "pack-relative-relocs", "--no-export-dynamic", "--no-rosegment", "--icf=safe"]
        .flatMap { ["-Xlinker", $0] },
    .when(configuration: .release))

let package = Package(
    name: "notifyd",
    products: [
        .executable(name: "notifyd", targets: ["notifyd"]),
        .executable(name: "notifyctl", targets: ["notifyctl"]),
        .library(name: "NotifyClient", targets: ["NotifyClient"]),
        .library(name: "Routing", targets: ["Routing"]),
        .library(name: "NotifyBridge", targets: ["NotifyBridge", "TOMLTables"]),
        .executable(name: "notifyd-mqtt", targets: ["notifyd-mqtt"]),
        .executable(name: "notifyd-browser", targets: ["notifyd-browser"]),
        .executable(name: "notifyd-desktop", targets: ["notifyd-desktop"]),
        .executable(name: "notifyd-focus", targets: ["notifyd-focus"]),
        .executable(name: "notifyd-unifiedpush", targets: ["notifyd-unifiedpush"]),
        // For the package of benchmarks alone.
        .library(name: "Journal", targets: ["Journal"]),
        // For the fuzzer in Tests/Fuzzing, which is a package of its own.
        .library(name: "NotifyFuzzing", targets: ["NotifyFuzzing"]),
        .executable(name: "notifyd-ntfy", targets: ["notifyd-ntfy"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        // For notifyd-ntfy alone.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        // The C libraries, each imported by one module only.
        .systemLibrary(
            name: "CSystemd", path: "Sources/C/CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]
        ),
        // With what Linux has and Swift's module Glibc lacks.
        .systemLibrary(
            name: "CDBus", path: "Sources/C/CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        // The index and the log of the daemon.
        .systemLibrary(
            name: "CStorage", path: "Sources/C/CStorage", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev", "zlib1g-dev"])]),
        // libmosquitto uses OpenSSL; why a certificate was refused, only OpenSSL knows.
        .systemLibrary(
            name: "CMosquitto", path: "Sources/C/CMosquitto", pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev", "libssl-dev"])]),
        // The windows of a desktop.
        .systemLibrary(
            name: "CDesktop", path: "Sources/C/CDesktop", pkgConfig: "xcb",
            providers: [.apt(["libwayland-dev", "libxcb1-dev"])]),
        .systemLibrary(
            name: "CPCRE2", path: "Sources/C/CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        // Instead of the 32 MiB of data that Foundation brings for languages and calendars.
        .target(name: "CICU", path: "Sources/C/CICU"),

        // What the command lines of both programs print, and how they end.
        .target(
            name: "StandardStreams",
            dependencies: [
                "NotifyText", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Common/StandardStreams", swiftSettings: strict),

        // What both sides of the bus share: topics, ids, values and times; text compared by its bytes, and made safe to
        // print; JSON; the version.
        .target(name: "NotifyText", path: "Sources/Common/NotifyText", swiftSettings: strict),

        // Where a user's files are, and how they are read.
        .target(name: "UserFiles", path: "Sources/Common/UserFiles", swiftSettings: strict),
        // Configuration files of the daemon and of bridges, and the secrets that they name.
        .target(
            name: "TOMLTables", dependencies: ["NotifyText", "UserFiles"],
            path: "Sources/Common/TOMLTables", swiftSettings: strict),

        // The daemon, from the pure rules outwards.
        .target(
            name: "Routing",
            dependencies: [
                "NotifyText", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            path: "Sources/Daemon/Routing", swiftSettings: strict),
        .target(
            name: "Journal",
            dependencies: [
                "CStorage", "NotifyText", "Routing", "UserFiles",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            path: "Sources/Daemon/Journal", swiftSettings: strict),
        .target(
            name: "Systemd",
            dependencies: [
                "CSystemd", "NotifyText", "UserFiles", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Daemon/Systemd", swiftSettings: strict + [failpoints]),
        .target(
            name: "NotifyDaemon",
            dependencies: [
                "Journal", "NotifyText", "Routing", "Systemd", "TOMLTables", "UserFiles",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"), .product(name: "Mustache", package: "swift-mustache"),
            ],
            path: "Sources/Daemon/NotifyDaemon", swiftSettings: strict),
        .executableTarget(
            name: "notifyd",
            dependencies: [
                "CICU", "Journal", "NotifyDaemon", "StandardStreams",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Programs/notifyd", swiftSettings: strict, linkerSettings: [compact]),
        // Which topics windows and the tabs of browsers show, and which notification of a program is which event, by
        // rules. No browser, no bus, no clock, no files, no Foundation.
        .target(
            name: "Watching",
            dependencies: [
                "CPCRE2", "Mapping", "NotifyText", "Routing", "TOMLTables",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Desktop/Watching", swiftSettings: strict),

        // Screens for programs that know nothing of notifyd. Programs that follow them hold screens with this, and the
        // extension of browsers talks to it.
        .target(
            name: "ScreenHolding",
            dependencies: ["NotifyText", "Routing", "Systemd", "TOMLTables", "UserFiles", "Watching"],
            path: "Sources/Desktop/ScreenHolding", swiftSettings: strict),
        .executableTarget(
            name: "notifyd-browser",
            dependencies: ["NotifyText", "ScreenHolding", "Systemd", "TOMLTables", "UserFiles", "Watching"],
            path: "Sources/Programs/notifyd-browser", swiftSettings: strict, linkerSettings: [compact]),

        // The client side, which knows nothing of the daemon but its D-Bus interface; it starts programs as well.
        .target(
            name: "NotifyClient", dependencies: ["CDBus", "NotifyText", "UserFiles"],
            path: "Sources/Client/NotifyClient", swiftSettings: strict),
        // What every bridge to another message system needs: see its documentation.
        .target(
            name: "NotifyBridge",
            dependencies: [
                "NotifyClient", "NotifyText", "StandardStreams", "Systemd", "TOMLTables", "UserFiles",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"), .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Bridge/NotifyBridge", swiftSettings: strict),
        // The link between devices: its configuration, its messages, sealed and signed, and what is decided about them.
        // No C, no clock, no files, no Foundation.
        .target(
            name: "Linking",
            dependencies: [
                "Mapping", "NotifyText", "TOMLTables", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Link/Linking", swiftSettings: strict),
        // Messages of others as events, and events as messages for them: on a broker, of ntfy, of Web Push. No C, no
        // clock, no files, no Foundation.
        .target(
            name: "Mapping",
            dependencies: ["NotifyText", .product(name: "Crypto", package: "swift-crypto")],
            path: "Sources/Bridge/Mapping", resources: [.embedInCode("Ntfy/emoji.txt")], swiftSettings: strict),
        // A connection to a broker.
        .target(
            name: "Mosquitto",
            dependencies: ["CMosquitto", "Linking", "NotifyClient", "Systemd", "TOMLTables", "UserFiles"],
            path: "Sources/Link/Mosquitto", swiftSettings: strict),
        .executableTarget(
            name: "notifyd-mqtt",
            dependencies: [
                "Linking", "Mapping", "Mosquitto", "NotifyBridge", "NotifyClient", "NotifyText",
                "Routing", "Systemd", "TOMLTables", "UserFiles",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Programs/notifyd-mqtt", swiftSettings: strict, linkerSettings: [compact]),
        .executableTarget(
            name: "notifyd-focus",
            dependencies: [
                "CDesktop", "NotifyText", "Routing", "ScreenHolding", "Systemd", "TOMLTables", "UserFiles",
                "Watching", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Programs/notifyd-focus", exclude: ["gnome-shell"],
            resources: [.embedInCode("kwin/notifyd-focus.js")], swiftSettings: strict, linkerSettings: [compact]),
        .executableTarget(
            name: "notifyd-unifiedpush",
            dependencies: [
                "Mapping", "NotifyBridge", "NotifyClient", "NotifyText", "TOMLTables",
                .product(name: "Crypto", package: "swift-crypto"), .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Programs/notifyd-unifiedpush", swiftSettings: strict, linkerSettings: [compact]),
        .executableTarget(
            name: "notifyd-ntfy",
            dependencies: [
                "Mapping", "NotifyBridge", "NotifyClient", "NotifyText", "TOMLTables", "UserFiles",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Sources/Programs/notifyd-ntfy", swiftSettings: strict, linkerSettings: [compact]),
        .executableTarget(
            name: "notifyd-desktop",
            dependencies: [
                "NotifyBridge", "NotifyClient", "NotifyText", "Systemd", "TOMLTables", "UserFiles",
                "Watching", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Programs/notifyd-desktop", swiftSettings: strict, linkerSettings: [compact]),
        // Private buses, and stand-ins on them: for tests, measurements and "notifyctl demo".
        .target(
            name: "NotifyRehearsal", dependencies: ["NotifyClient", "UserFiles"],
            path: "Sources/Testing/NotifyRehearsal", swiftSettings: strict),
        .executableTarget(
            name: "notifyctl",
            dependencies: [
                "Linking", "NotifyClient", "NotifyRehearsal", "NotifyText", "Routing", "StandardStreams",
                "TOMLTables", "UserFiles", "Watching",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Programs/notifyctl",
            // What shells run; with the program, and without Foundation.
            resources: ["bash", "zsh", "fish"].map { .embedInCode("SendAndListen/notifyd.\($0)") },
            swiftSettings: strict, linkerSettings: [compact]),
        .executableTarget(
            name: "notifyload",
            dependencies: [
                "Journal", "Linking", "Mosquitto", "NotifyClient", "NotifyRehearsal", "Routing",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Testing/notifyload", swiftSettings: strict),

        // The example in examples/swift, built here too so that it cannot rot; it has a Package.swift of its own.
        .executableTarget(
            name: "RunBoard", dependencies: ["NotifyClient"],
            path: "examples/swift/Sources/run-board", swiftSettings: strict),

        // The same of examples/bridge, from the tutorial of NotifyBridge.
        .executableTarget(
            name: "FolderBridge", dependencies: ["NotifyBridge", "NotifyClient", "TOMLTables"],
            path: "examples/bridge/Sources/folder-bridge", swiftSettings: strict),

        // Tests.
        .target(
            name: "NotifyTestSupport",
            dependencies: ["CStorage", "Journal", "NotifyClient", "NotifyRehearsal", "NotifyText", "Routing"],
            path: "Sources/Testing/NotifyTestSupport", swiftSettings: strict),
        // What is done with the inputs of a fuzzer; the tests do the same with those that are kept.
        .target(
            name: "NotifyFuzzing",
            dependencies: [
                "Journal", "Linking", "Mapping", "NotifyClient", "NotifyDaemon", "NotifyText", "Routing",
                "ScreenHolding", "Systemd", "TOMLTables", "Watching",
            ],
            path: "Sources/Testing/NotifyFuzzing", swiftSettings: strict),
        .testTarget(
            name: "RoutingTests", dependencies: ["NotifyTestSupport", "NotifyText", "Routing"], swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Journal", "NotifyDaemon", "NotifyFuzzing", "NotifyRehearsal", "NotifyTestSupport", "NotifyText",
                "Routing", "Systemd", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "Journal", "NotifyClient", "NotifyDaemon", "NotifyRehearsal", "NotifyTestSupport", "NotifyText",
                "Routing", "Systemd", "TOMLTables", "UserFiles", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"), .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .testTarget(
            name: "NotifyClientTests",
            dependencies: [
                "NotifyClient", "NotifyRehearsal", "NotifyTestSupport", "NotifyText", "Routing", "TOMLTables",
                "Watching", "notifyctl", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),
        // What the link, bridges and followers of the desktop decide: no program is started.
        .testTarget(
            name: "RuleTests",
            dependencies: [
                "Linking", "Mapping", "NotifyTestSupport", "NotifyText", "Routing", "ScreenHolding", "TOMLTables",
                "Watching", "notifyd-ntfy", .product(name: "Crypto", package: "swift-crypto"),
            ], exclude: ["Push/WebPush/Vectors"], swiftSettings: strict),
        // The bridges with their shells, among real brokers and stand-ins.
        .testTarget(
            name: "BridgeTests",
            dependencies: [
                "FolderBridge", "Linking", "Mapping", "Mosquitto", "NotifyBridge", "NotifyClient", "NotifyRehearsal",
                "NotifyTestSupport", "NotifyText", "Routing", "TOMLTables", "notifyctl", "notifyd", "notifyd-mqtt",
                "notifyd-unifiedpush", .product(name: "Logging", package: "swift-log"),
            ], exclude: ["LinkShell/Strangers", "PushShell/distributor.py"], swiftSettings: strict + [failpoints]),
        // notifyd-focus among desktops, and notifyd-browser as browsers start it.
        .testTarget(
            name: "DesktopTests",
            dependencies: [
                "CDesktop", "NotifyClient", "NotifyRehearsal", "NotifyTestSupport", "NotifyText", "Routing",
                "ScreenHolding", "Watching", "notifyctl", "notifyd", "notifyd-browser", "notifyd-focus",
            ], swiftSettings: strict),
        // What is written about all of it is true.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "NotifyClient", "NotifyDaemon", "NotifyRehearsal", "NotifyTestSupport", "TOMLTables", "Watching",
                "notifyctl", "notifyd", "notifyd-mqtt",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Journal", "NotifyClient", "NotifyRehearsal", "NotifyTestSupport", "NotifyText", "Routing", "RunBoard",
                "notifyctl", "notifyd", "notifyd-browser", "notifyd-desktop", "notifyd-mqtt", "notifyd-ntfy",
                "notifyload",
            ], exclude: ["Rigs", "PowerCut/disk.c"], swiftSettings: strict + [failpoints]),
    ],
    swiftLanguageModes: [.v6]
)
