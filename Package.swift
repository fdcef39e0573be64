// swift-tools-version: 6.2

// A section for each row of the modules in docs/internals/architecture.md, lowest first, then fixtures and tests.
// Targets are sorted within a section, but for what all tests share; so are dependencies. A target may depend on
// targets of lower sections, and on those of its own section that the page allows it.

import PackageDescription

let package = Package(
    name: "event-bridge",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "bridge-benchmark", targets: ["bridge-benchmark"]),
        .executable(name: "bridge-guard", targets: ["bridge-guard"]),
        .executable(name: "supervisor", targets: ["supervisor"]),
        .library(name: "BridgeClient", targets: ["BridgeClient"]),
        .library(name: "BridgeControl", targets: ["BridgeControl"]),
        .library(name: "BridgeWorker", targets: ["BridgeWorker"]),
        .library(name: "DomainEvents", targets: ["DomainEvents"]),
        .library(name: "DomainEventsFoundation", targets: ["DomainEventsFoundation"]),
        .library(name: "EventBridge", targets: ["EventBridge"]),
        .library(name: "EventBridgeTesting", targets: ["EventBridgeTesting"]),
        .library(name: "Journal", targets: ["Journal"]),
        .library(name: "Supervision", targets: ["Supervision"]),
    ],
    targets: [
        // MARK: - Bedrock

        .target(name: "CLocks"),
        .target(
            name: "Locks",
            dependencies: [
                "CLocks"
            ]
        ),

        // MARK: - Ground

        .target(
            name: "BridgePlatform",
            dependencies: [
                "CBridgePlatform",
                "Locks",
            ]
        ),
        .target(name: "CAllocationCounter"),
        .target(name: "CBOR"),
        .target(name: "CBridgePlatform"),
        .target(
            name: "DomainEvents",
            dependencies: [
                "CBOR",
                "Locks",
            ]
        ),
        .target(
            name: "DomainEventsFoundation",
            dependencies: [
                "DomainEvents",
                "Locks",
            ]
        ),
        .target(
            name: "JSONText",
            dependencies: [
                "CBOR"
            ]
        ),

        // MARK: - Protocol

        .target(
            name: "BridgeProtocol",
            dependencies: [
                "CBOR",
                "DomainEvents",
                "JSONText",
            ]
        ),

        .target(
            name: "JournalFormat",
            dependencies: [
                "CBridgePlatform",
                "DomainEvents",
            ]
        ),

        // MARK: - Services

        .target(
            name: "BridgeTransport",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "DomainEvents",
                "Locks",
            ]
        ),
        .target(
            name: "Journal",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "DomainEvents",
                "JournalFormat",
                "Locks",
            ]
        ),
        .target(
            name: "Supervision",
            dependencies: [
                "Locks"
            ]
        ),

        // MARK: - Routing

        .target(
            name: "BridgeControl",
            dependencies: [
                "DomainEvents"
            ]
        ),
        .target(
            name: "EventRouting",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "CBOR",
                "DomainEvents",
                "Locks",
            ]
        ),

        .target(
            name: "NamedSockets",
            dependencies: [
                "BridgePlatform",
                "BridgeTransport",
                "Locks",
            ]
        ),

        // MARK: - Faces

        .target(
            name: "BridgeClient",
            dependencies: [
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "CBOR",
                "DomainEvents",
                "EventRouting",
                "Locks",
            ]
        ),
        .target(
            name: "BridgeWorker",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "DomainEvents",
                "EventRouting",
                "Locks",
            ]
        ),
        .target(
            name: "EventBridge",
            dependencies: [
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "CBOR",
                "DomainEvents",
                "EventRouting",
                "Locks",
                "NamedSockets",
                "Supervision",
            ]
        ),

        // MARK: - Test kit

        .target(
            name: "EventBridgeTesting",
            dependencies: [
                "BridgeClient",
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "BridgeWorker",
                "DomainEvents",
                "EventBridge",
                "EventRouting",
                "JSONText",
                "Locks",
                "NamedSockets",
                "Supervision",
            ]
        ),

        // MARK: - Parts of programs

        .target(
            name: "SupervisorConfiguration",
            dependencies: [
                "BridgePlatform",
                "CBOR",
                "DomainEvents",
                "JSONText",
            ]
        ),

        // MARK: - Programs

        .executableTarget(
            name: "bridge-benchmark",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeWorker",
                "CAllocationCounter",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventBridgeTesting",
                "JSONText",
                "Journal",
                "Locks",
                "Supervision",
            ]
        ),
        .executableTarget(name: "bridge-guard", dependencies: ["CBridgePlatform"]),
        .executableTarget(
            name: "supervisor",
            dependencies: [
                "BridgeClient",
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventRouting",
                "JSONText",
                "Journal",
                "JournalFormat",
                "Locks",
                "Supervision",
                "SupervisorConfiguration",
            ]
        ),

        // MARK: - Fixtures

        .target(
            name: "ChaosLedger",
            dependencies: [
                "BridgePlatform",
                "DomainEvents",
                "Locks",
                "Supervision",
            ],
            path: "Fixtures/ChaosLedger"
        ),
        .target(
            name: "ExampleDomain",
            dependencies: [
                "DomainEvents",
                "Locks",
            ],
            path: "Fixtures/ExampleDomain"
        ),
        .target(
            name: "ExampleServices",
            dependencies: [
                "DomainEvents",
                "ExampleDomain",
                "Locks",
            ],
            path: "Fixtures/ExampleServices"
        ),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventBridgeTesting",
                "JSONText",
                "JournalFormat",
                "Locks",
                "Supervision",
            ],
            path: "Fixtures/FuzzTargets"
        ),
        .executableTarget(
            name: "canvas-worker",
            dependencies: [
                "BridgeWorker",
                "DomainEvents",
                "ExampleServices",
            ],
            path: "Fixtures/canvas-worker"
        ),
        .executableTarget(
            name: "chaos-checker",
            dependencies: [
                "BridgePlatform",
                "ChaosLedger",
            ],
            path: "Fixtures/chaos-checker"
        ),
        .executableTarget(
            name: "chaos-driver",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "ChaosLedger",
                "DomainEvents",
                "EventBridge",
                "Locks",
                "Supervision",
            ],
            path: "Fixtures/chaos-driver"
        ),
        .executableTarget(
            name: "chaos-worker",
            dependencies: [
                "BridgeClient",
                "BridgePlatform",
                "BridgeWorker",
                "ChaosLedger",
                "DomainEvents",
                "JSONText",
                "Locks",
                "Supervision",
            ],
            path: "Fixtures/chaos-worker"
        ),
        .executableTarget(
            name: "event-path",
            dependencies: [
                "BridgePlatform",
                "BridgeTransport",
                "CAllocationCounter",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventBridgeTesting",
                "Journal",
                "Locks",
            ],
            path: "Fixtures/event-path"
        ),
        .executableTarget(
            name: "faulty-worker",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeWorker",
                "CBOR",
                "DomainEvents",
                "ExampleDomain",
            ],
            path: "Fixtures/faulty-worker"
        ),
        .executableTarget(
            name: "fuzz-flood",
            dependencies: [
                "BridgePlatform",
                "FuzzTargets",
            ],
            path: "Fixtures/fuzz-flood"
        ),
        .executableTarget(
            name: "host-chaos",
            dependencies: [
                "BridgePlatform",
                "BridgeWorker",
                "ChaosLedger",
                "DomainEvents",
                "EventBridge",
                "Journal",
                "Supervision",
            ],
            path: "Fixtures/host-chaos"
        ),
        .executableTarget(
            name: "journal-writer",
            dependencies: [
                "BridgePlatform",
                "DomainEvents",
                "Journal",
            ],
            path: "Fixtures/journal-writer"
        ),
        .executableTarget(
            name: "numbered-importer",
            dependencies: [
                "BridgePlatform",
                "BridgeWorker",
                "DomainEvents",
                "EventBridge",
                "Journal",
            ],
            path: "Fixtures/numbered-importer"
        ),
        .executableTarget(
            name: "provisioning-worker",
            dependencies: [
                "BridgeWorker",
                "DomainEvents",
                "ExampleServices",
            ],
            path: "Fixtures/provisioning-worker"
        ),
        .executableTarget(
            name: "reader-probe",
            dependencies: [
                "CBOR",
                "JSONText",
            ],
            path: "Fixtures/reader-probe"
        ),
        .executableTarget(
            name: "shelf-keeper",
            dependencies: [
                "BridgePlatform",
                "CBOR",
                "DomainEvents",
                "Journal",
            ],
            path: "Fixtures/shelf-keeper"
        ),

        // MARK: - Tests

        .target(
            name: "TestSupport",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "DomainEvents",
                "JSONText",
                "Locks",
                "Supervision",
            ],
            path: "Tests/TestSupport"
        ),
        .testTarget(
            name: "BridgeBenchmarkTests",
            dependencies: [
                "BridgePlatform",
                "DomainEvents",
                "EventBridge",
                "Supervision",
                "bridge-benchmark",
            ]
        ),
        .testTarget(
            name: "BridgeClientTests",
            dependencies: [
                "BridgeClient",
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "DomainEvents",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "BridgeControlTests",
            dependencies: [
                "BridgeControl",
                "CBOR",
                "DomainEvents",
            ]
        ),
        .testTarget(
            name: "BridgePlatformTests",
            dependencies: [
                "BridgePlatform",
                "CBridgePlatform",
                "Locks",
                "TestSupport",
                "bridge-guard",
            ]
        ),
        .testTarget(
            name: "BridgeProtocolTests",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "DomainEvents",
                "JSONText",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "BridgeTransportTests",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "DomainEvents",
                "Locks",
                "NamedSockets",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "CBORTests",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "DomainEvents",
                "FuzzTargets",
                "Locks",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "BridgeClient",
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "CBridgePlatform",
                "ChaosLedger",
                "DomainEvents",
                "ExampleDomain",
                "JSONText",
                "Locks",
                "Supervision",
                "TestSupport",
                "bridge-benchmark",
                "canvas-worker",
                "chaos-checker",
                "chaos-driver",
                "chaos-worker",
                "faulty-worker",
                "provisioning-worker",
                "supervisor",
            ]
        ),
        .testTarget(
            name: "CorpusTests",
            dependencies: [
                "FuzzTargets",
                "SupervisorConfiguration",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "DomainEventsFoundationTests",
            dependencies: [
                "DomainEvents",
                "DomainEventsFoundation",
                "EventBridgeTesting",
                "Locks",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "DomainEventsTests",
            dependencies: [
                "BridgePlatform",
                "DomainEvents",
                "Locks",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "EventBridgeTestingTests",
            dependencies: [
                "DomainEvents",
                "EventBridgeTesting",
            ]
        ),
        .testTarget(
            name: "EventBridgeTests",
            dependencies: [
                "BridgeClient",
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeWorker",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventBridgeTesting",
                "EventRouting",
                "ExampleDomain",
                "ExampleServices",
                "Locks",
                "Supervision",
                "TestSupport",
                "canvas-worker",
                "faulty-worker",
                "provisioning-worker",
                "supervisor",
            ]
        ),
        .testTarget(
            name: "EventRoutingTests",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "DomainEvents",
                "EventBridgeTesting",
                "EventRouting",
                "Locks",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "CBOR",
                "DomainEvents",
                "ExampleDomain",
                "ExampleServices",
                "JSONText",
                "Locks",
            ]
        ),
        .testTarget(
            name: "JSONTextTests",
            dependencies: [
                "CBOR",
                "JSONText",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "JournalFormatTests",
            dependencies: [
                "CBridgePlatform",
                "DomainEvents",
                "JournalFormat",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "JournalTests",
            dependencies: [
                "BridgePlatform",
                "BridgeWorker",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventBridgeTesting",
                "Journal",
                "JournalFormat",
                "Locks",
                "TestSupport",
                "host-chaos",
                "journal-writer",
                "numbered-importer",
                "shelf-keeper",
            ]
        ),
        .testTarget(
            name: "LocksTests",
            dependencies: [
                "Locks",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "ScenarioTests",
            dependencies: [
                "DomainEvents",
                "EventBridgeTesting",
                "ExampleDomain",
                "Locks",
            ]
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "BridgePlatform",
                "BridgeProtocol",
                "BridgeTransport",
                "CBOR",
                "DomainEvents",
                "EventBridge",
                "EventBridgeTesting",
                "JSONText",
                "Locks",
                "Supervision",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "SupervisionTests",
            dependencies: [
                "Locks",
                "Supervision",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "SupervisorCommandTests",
            dependencies: [
                "BridgeClient",
                "BridgeControl",
                "BridgePlatform",
                "BridgeProtocol",
                "CBOR",
                "CBridgePlatform",
                "DomainEvents",
                "EventBridge",
                "JSONText",
                "Journal",
                "Locks",
                "Supervision",
                "SupervisorConfiguration",
                "TestSupport",
                "canvas-worker",
                "provisioning-worker",
                "supervisor",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

/// Leaves only these targets, and those that they need.
@MainActor func keepOnly(_ names: [String]) {
    var needed = Set(names)
    var unvisited = names
    while let name = unvisited.popLast() {
        for case .byNameItem(let other, _) in package.targets.first(where: { $0.name == name })?.dependencies ?? []
        where needed.insert(other).inserted {
            unvisited.append(other)
        }
    }
    package.products = []
    package.targets.removeAll { !needed.contains($0.name) }
}

// Set by .ci/fuzz: the programs whose main function libFuzzer brings.
if Context.environment["EVENT_BRIDGE_FUZZ"] != nil {
    let programs = ["cbor", "configuration", "frames", "host", "journal", "lines", "link"].map { "fuzz-\($0)" }
    package.targets += programs.map {
        .executableTarget(
            name: $0,
            dependencies: ["FuzzTargets", "SupervisorConfiguration"],
            path: "Fixtures/\($0)"
        )
    }
    keepOnly(programs)
}

// Set by .ci/run: the test targets that a build runs, and the programs that it needs besides those of the tests.
if let chosen = Context.environment["EVENT_BRIDGE_TARGETS"] {
    keepOnly(chosen.split(separator: " ").map(String.init))
}

// Keep this after all targets: every Swift target is built with the same settings.
let swiftSettings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0470-isolated-conformances.md
    .enableUpcomingFeature("InferIsolatedConformances"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
/// Set by CI: a warning fails the build.
let warnings: [SwiftSetting] =
    Context.environment["EVENT_BRIDGE_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]
let targetsInC = ["CAllocationCounter", "CBridgePlatform", "CLocks", "bridge-guard"]
for target in package.targets where !targetsInC.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + swiftSettings + warnings
}
