import DomainEvents
import FoundationEssentials

/// W3: large payloads from a worker to the host.
enum BlobWork {
    static func run(_ bytes: Int, count: Int64) async throws {
        var design = BenchmarkBridge()
        design.add("benchmark", ["W3"], subscribes: [BenchmarkStarted.self])
        let flood = Flood(count: count)
        let done = Finish()
        let subscription = design.publisher.subscribe(to: BenchmarkBlob.self) { event in
            guard event.title == Title.of(event.id), event.blob.count == bytes, Stamp.isRight(event.blob, id: event.id)
            else { Report.fail("blob \(event.id) is not what was sent") }
            if flood.arrived(event.id) { done.finish() }
        }
        let bridge = try await design.start()
        design.publisher.publish(BenchmarkStarted(count: count, blobBytes: bytes))
        await done.wait()
        await design.stop(bridge)
        subscription.cancel()
        Report.blobs("event-bridge", bytes, count, nanoseconds: flood.nanoseconds)
    }

    /// The worker's part.
    static func send(_ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: BenchmarkStarted.self) { start in
                Task.detached {
                    var blob = Data(count: start.blobBytes)
                    for id in 0..<start.count {
                        Stamp.set(id, in: &blob)
                        try await publisher.send(BenchmarkBlob(id: id, title: Title.of(id), blob: blob))
                    }
                }
            }
        ]
    }
}
