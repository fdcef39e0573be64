import BoxEvents
public import DomainEvents
public import EventBridge

/// The bridge to the two workers of the shop.
public func makeBridge(for publisher: EventPublisher) throws -> BridgeHost {
    try BridgeHost(
        publisher: publisher,
        workers: [
            WorkerSpecification(
                "provisioning",
                executable: .beside("box-worker"),
                subscribes: [BoxOrdered.self]
            ),
            WorkerSpecification(
                "labels",
                executable: .beside("label-worker"),
                subscribes: [BoxProvisioned.self]
            ),
        ],
        intensity: RestartIntensity(restarts: 3, within: .seconds(10))
    )
}
