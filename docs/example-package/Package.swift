// swift-tools-version: 6.2

// The manifest of a package with two workers, the program that starts them, and tests. In a package of your own, `path`
// is the path of your clone of EventBridge.

import PackageDescription

let package = Package(
    name: "example",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "event-bridge", path: "../..")],
    targets: [
        // The events, which all programs share.
        .target(
            name: "BoxEvents",
            dependencies: [
                .product(name: "DomainEvents", package: "event-bridge")
            ]
        ),
        // The workers' handlers. They are a library, so tests can run them without worker processes.
        .target(
            name: "BoxServices",
            dependencies: [
                "BoxEvents",
                .product(name: "DomainEvents", package: "event-bridge"),
            ]
        ),
        .executableTarget(
            name: "box-worker",
            dependencies: [
                "BoxServices",
                .product(name: "BridgeWorker", package: "event-bridge"),
            ]
        ),
        .executableTarget(
            name: "label-worker",
            dependencies: [
                "BoxServices",
                .product(name: "BridgeWorker", package: "event-bridge"),
            ]
        ),
        .target(
            name: "BoxShop",
            dependencies: [
                "BoxEvents",
                .product(name: "DomainEvents", package: "event-bridge"),
                .product(name: "EventBridge", package: "event-bridge"),
            ]
        ),
        // The parent depends on the programs that it starts, so SwiftPM builds them with it and puts them beside it.
        .executableTarget(
            name: "shop",
            dependencies: [
                "BoxEvents",
                "BoxShop",
                "box-worker",
                "label-worker",
                .product(name: "bridge-guard", package: "event-bridge"),
                .product(name: "DomainEvents", package: "event-bridge"),
            ]
        ),
        .testTarget(
            name: "BoxTests",
            dependencies: [
                "BoxEvents",
                .product(name: "DomainEvents", package: "event-bridge"),
                .product(name: "EventBridgeTesting", package: "event-bridge"),
            ]
        ),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "BoxEvents",
                "BoxServices",
                "BoxShop",
                "box-worker",
                "label-worker",
                .product(name: "bridge-guard", package: "event-bridge"),
                .product(name: "DomainEvents", package: "event-bridge"),
                .product(name: "EventBridge", package: "event-bridge"),
                .product(name: "EventBridgeTesting", package: "event-bridge"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
