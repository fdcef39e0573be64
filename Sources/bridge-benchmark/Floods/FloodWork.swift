import BridgePlatform
import DomainEvents

/// W2 and the works that build on it: workers send events to the host as fast as they can, and ``Flood`` checks that
/// none is lost.
enum FloodWork {
    struct Outcome {
        let count: Int64
        let nanoseconds: UInt64
        /// The host's processor time in the second before the flood; 0 if it was not measured.
        var idleNanoseconds: UInt64 = 0
        /// The host's memory after the flood.
        var residentBytes = 0
    }

    static func run(_ plan: FloodPlan, count: Int64) async throws {
        let outcome = try await measure(plan, count: count)
        Report.flood(plan.name, plan.form, outcome.count, nanoseconds: outcome.nanoseconds)
    }

    /// Does the work of ``run(_:count:)`` after an idle second, and prints what an event costs.
    static func runForCost(_ plan: FloodPlan, count: Int64) async throws {
        let outcome = try await measure(plan, count: count, idlesFirst: true)
        Report.cost(
            plan.name,
            outcome.count,
            nanoseconds: outcome.nanoseconds,
            residentBytes: outcome.residentBytes,
            idleNanoseconds: outcome.idleNanoseconds
        )
    }

    static func measure(
        _ plan: FloodPlan,
        count: Int64,
        idlesFirst: Bool = false
    ) async throws -> Outcome {
        switch plan.form {
        case .codable: try await measure(plan, BenchmarkEvent.self, count, idlesFirst)
        case .layout: try await measure(plan, BenchmarkLaidOutEvent.self, count, idlesFirst)
        }
    }

    private static func measure<Event: TitledEvent>(
        _ plan: FloodPlan,
        _ event: Event.Type,
        _ count: Int64,
        _ idlesFirst: Bool
    ) async throws -> Outcome {
        var design = BenchmarkBridge()
        for worker in 0..<plan.workers {
            design.add("benchmark-\(worker)", plan.arguments(worker: worker), subscribes: [BenchmarkStarted.self])
        }
        design.addIdle(plan.idleWorkers)
        if plan.hasSlowLink { design.addSlowLink() }
        if let path = plan.journalPath { try design.addJournal(at: path, recording: [event]) }
        let flood = Flood(count: count, lanes: plan.lanes)
        let done = Finish()
        let publisher = design.publisher
        var subscriptions = KnownTypes.subscribe(plan.knownTypes, to: publisher)
        subscriptions += (1..<plan.subscribers).map { _ in publisher.subscribe(to: Event.self) { $0.checkTitle() } }
        subscriptions.append(
            publisher.subscribe(to: Event.self) { event in
                event.checkTitle()
                if flood.arrived(event.id) { done.finish() }
            }
        )
        let bridge = try await design.start()
        var idleNanoseconds: UInt64 = 0
        if idlesFirst {
            let before = CurrentProcess.processorNanoseconds()
            try await Task.sleep(for: .seconds(1))
            idleNanoseconds = CurrentProcess.processorNanoseconds() - before
        }
        publisher.publish(BenchmarkStarted(count: flood.count, blobBytes: 0))
        await done.wait()
        let residentBytes = CurrentProcess.residentBytes() ?? 0
        await design.stop(bridge, recorded: flood.count)
        withExtendedLifetime(subscriptions) {}
        return Outcome(
            count: flood.count,
            nanoseconds: flood.nanoseconds,
            idleNanoseconds: idleNanoseconds,
            residentBytes: residentBytes
        )
    }
}
