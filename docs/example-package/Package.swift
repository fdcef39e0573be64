// swift-tools-version: 6.2

// What a package of yours has to say to test with simulated worlds: the path stands for the address of this repository.

import PackageDescription

let package = Package(
    name: "example",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "event-bridge", path: "../..")],
    targets: [
        .testTarget(
            name: "BoxTests",
            dependencies: [
                .product(name: "DomainEvents", package: "event-bridge"),
                .product(name: "EventBridgeTesting", package: "event-bridge"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
