// swift-tools-version: 6.2

// The manifest of a package of yours: two workers, the program that starts them, and tests. The path stands for the
// address of this repository.

import PackageDescription

let package = Package(
    name: "example",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "event-bridge", path: "../..")],
    targets: [
        // What both sides of the bridge know.
        .target(
            name: "BoxEvents",
            dependencies: [
                .product(name: "DomainEvents", package: "event-bridge")
            ]
        ),
        // What the workers do: libraries, so that tests run it without processes.
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
        // The programs that the parent starts are among its dependencies, so that they are built with it, and lie
        // beside it.
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
