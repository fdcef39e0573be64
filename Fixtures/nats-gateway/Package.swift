// swift-tools-version: 6.2

// A gateway between event bridges of several machines, over NATS JetStream. EventBridge itself depends on nothing. So
// the gateway, which needs the C client of NATS (Debian: `apt-get install libnats-dev nats-server`), has this package.

import PackageDescription

let package = Package(
    name: "nats-gateway",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "nats-gateway", targets: ["nats-gateway"])],
    dependencies: [.package(name: "event-bridge", path: "../..")],
    targets: [
        .systemLibrary(
            name: "CNATS",
            pkgConfig: "libnats",
            providers: [.apt(["libnats-dev"]), .brew(["cnats"])]
        ),
        .target(name: "NATSGateway", dependencies: ["CNATS"]),
        .executableTarget(
            name: "nats-gateway",
            dependencies: [
                "NATSGateway",
                .product(name: "BridgeWorker", package: "event-bridge"),
                .product(name: "DomainEvents", package: "event-bridge"),
            ]
        ),
        .target(name: "LocalBroker"),
        .executableTarget(
            name: "gateway-benchmark",
            dependencies: [
                "LocalBroker",
                .product(name: "DomainEvents", package: "event-bridge"),
                .product(name: "EventBridge", package: "event-bridge"),
                .product(name: "Supervision", package: "event-bridge"),
            ]
        ),
        .testTarget(
            name: "NATSGatewayTests",
            dependencies: [
                "CNATS",
                "LocalBroker",
                "NATSGateway",
                "nats-gateway",
                .product(name: "bridge-guard", package: "event-bridge"),
                .product(name: "supervisor", package: "event-bridge"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// These settings are as in EventBridge's own manifest.
for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    if Context.environment["EVENT_BRIDGE_WARNINGS_AS_ERRORS"] != nil {
        target.swiftSettings?.append(.treatAllWarnings(as: .error))
    }
}
