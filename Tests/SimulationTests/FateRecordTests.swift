import BridgeProtocol
import CBOR
import DomainEvents
import Testing

@testable import EventBridge
@testable import EventBridgeTesting

/// Records of what became of events, made by hand: a fate too many or too few is always found.
@Suite(.timeLimit(.minutes(5)))
struct FateRecordTests {
    private func id(_ number: UInt64) -> EventID { EventID(origin: "host", incarnation: 7, number: number) }

    private func books(
        accepted: UInt64 = 0,
        handled: UInt64 = 0,
        unwanted: UInt64 = 0,
        refused: UInt64 = 0,
        dropped: UInt64 = 0,
        deadLettered: UInt64 = 0,
        waiting: UInt64 = 0
    ) -> EventCounts {
        EventCounts(
            offered: accepted,
            rejected: 0,
            handled: handled,
            unwanted: unwanted,
            unconfirmed: 0,
            refused: refused,
            coalesced: 0,
            dropped: dropped,
            deadLettered: deadLettered,
            lost: 0,
            waiting: waiting,
            waitingBytes: Int(waiting) * 256,
            bytes: 0
        )
    }

    private func letter(_ number: UInt64, isOfCrashes: Bool = true) -> FateRecord.PutAside {
        FateRecord.PutAside(id: id(number), worker: "one", isOfCrashes: isOfCrashes)
    }

    /// A record of these settlements, each of which is right.
    private func record(_ steps: FateRecord.Settlement...) -> FateRecord {
        var record = FateRecord()
        for step in steps { #expect(record.settled(step, by: "one") { _ in "E" } == nil) }
        return record
    }

    private func gap(_ count: Int, isOfPolicy: Bool = true, _ named: UInt64...) -> FateRecord.Settlement {
        .gap(FateRecord.PassedGap(count: count, isOfPolicy: isOfPolicy, named: named.map(id)))
    }

    @Test("One fate for each event is right")
    func sound() {
        let record = record(
            .acknowledged(id(1)),
            .acknowledged(id(2)),
            .refused(id(3)),
            gap(2, 4, 5),
            gap(1, isOfPolicy: false, 6)
        )
        let books = books(accepted: 7, handled: 1, unwanted: 1, refused: 1, dropped: 2, deadLettered: 1, waiting: 0)
        let letters = [letter(3, isOfCrashes: false), letter(7)]
        #expect(record.mistake(in: books, of: "one", letters: letters) == nil)
    }

    @Test("An event that is settled before it has come, again, or in two ways is named")
    func settledTwice() {
        var record = record(.acknowledged(id(1)), .refused(id(2)))
        func found(_ settlement: FateRecord.Settlement, hasCome: Bool = true) -> String? {
            record.settled(settlement, by: "one") { _ in hasCome ? "E" : nil }
        }
        #expect(found(.acknowledged(id(1))) == "one acknowledges \(id(1)) again")
        #expect(found(.refused(id(1))) == "one refuses \(id(1)), which it has acknowledged")
        #expect(found(.acknowledged(id(3)), hasCome: false) == "one acknowledges \(id(3)), which has not come to it")
        #expect(found(.refused(id(3)), hasCome: false) == "one refuses \(id(3)), which has not come to it")
        // The event was put back as a dead letter, which the record cannot know.
        #expect(found(.acknowledged(id(2))) == nil)
    }

    @Test("Two members of a pool that handle one event are named, two other workers are not")
    func pool() {
        var record = FateRecord()
        record.addPool(["one", "two"]) { $0 == "Shared" }
        for worker in ["one", "other"] {
            #expect(record.settled(.acknowledged(id(1)), by: worker) { _ in "Shared" } == nil)
        }
        let found = record.settled(.acknowledged(id(1)), by: "two") { _ in "Shared" }
        #expect(found == "two acknowledges \(id(1)), which one of the same pool has acknowledged")
        for worker in ["one", "two"] {
            #expect(record.settled(.acknowledged(id(2)), by: worker) { _ in "ForEveryMember" } == nil)
        }
    }

    @Test("A dead letter that is there twice, or was acknowledged, is named")
    func deadLetters() {
        let record = record(.acknowledged(id(1)))
        let books = books(accepted: 2, handled: 1, deadLettered: 1)
        #expect(
            record.mistake(in: books, of: "one", letters: [letter(2), letter(2)])
                == "\(id(2)) is a dead letter of one twice"
        )
        #expect(
            record.mistake(in: books, of: "one", letters: [letter(1)])
                == "\(id(1)) is a dead letter of one, which has acknowledged it"
        )
        #expect(
            record.mistake(in: books, of: "one", letters: [letter(2), letter(3)])
                == "one died of 2 dead letters, and 1 events count as dead letters"
        )
    }

    @Test("A fate that is missing in the books, or only there, is found")
    func missing() {
        let record = record(.acknowledged(id(1)), .refused(id(2)), gap(3, 3, 5))
        func found(handled: UInt64 = 1, refused: UInt64 = 1, dropped: UInt64 = 3, waiting: UInt64 = 0) -> String? {
            let books = books(handled: handled, refused: refused, dropped: dropped, waiting: waiting)
            return record.mistake(in: books, of: "one", letters: [])
        }
        #expect(found() == nil)
        for handled in [0, 2] as [UInt64] {
            #expect(found(handled: handled)?.contains("count as handled or unwanted at one") == true)
        }
        for refused in [0, 2] as [UInt64] {
            #expect(found(refused: refused)?.contains("count as refused by one") == true)
        }
        for dropped in [2, 4] as [UInt64] { #expect(found(dropped: dropped)?.contains("count as dropped") == true) }
        // Something waits for the worker, so the gap may wait too.
        #expect(found(dropped: 4, waiting: 1) == nil)
    }

    @Test("An event that was acknowledged, and that a gap names, is named")
    func gapOfHandled() {
        let record = record(.acknowledged(id(1)), gap(1, isOfPolicy: false, 1))
        let found = record.mistake(in: books(accepted: 1, handled: 1), of: "one", letters: [])
        #expect(found == "one has acknowledged \(id(1)), of which a gap says that it was dropped")
    }

    @Test("The books of a worker that was removed begin anew")
    func removed() {
        var record = record(.acknowledged(id(1)))
        #expect(record.mistake(in: books(), of: "one", letters: []) != nil)
        record.remove(["one"])
        #expect(record.mistake(in: books(), of: "one", letters: []) == nil)
        #expect(record.mistake(in: books(), of: "one", letters: [letter(1)]) != nil)
    }

    // MARK: - In a world

    private func failure(_ body: @escaping @Sendable (SimulationWorld) async throws -> Void) async -> String? {
        await BridgeSimulation(faults: .none).outcome(of: Choices(seed: 1), body).failure?.reason
    }

    private static func worker(_ handled: Fates) -> InMemoryWorker {
        InMemoryWorker("one", subscribes: [Asked.self]) { publisher in
            [publisher.subscribe(to: Asked.self) { (_: Asked) in handled.handles() }]
        }
    }

    @Test("All members of a pool may handle an event that is for every member, or that they ask for themselves")
    func everyMember() async {
        let reason = await failure { world in
            let publisher = EventPublisher()
            let pool = WorkerPool(2).toEveryMember(Asked.self)
            let worker = InMemoryWorker("pool", subscribes: [Asked.self], pool: pool) { publisher in
                [
                    publisher.subscribe(to: Asked.self) { (_: Asked) in },
                    publisher.subscribe(to: Measured.self) { (_: Measured) in },
                ]
            }
            let host = try await world.start(publisher, workers: [worker])
            publisher.publish(Asked(number: 1))
            publisher.publish(Measured(number: 1))
            try await world.rest(within: .seconds(60))
            let handled = host.statistics.map(\.sent.handled)
            guard handled == [2, 2] else { throw SimulationError("\(handled)") }
        }
        #expect(reason == nil)
    }

    @Test("A world looks at them at rest, and names what its books do not know")
    func atRest() async {
        let reason = await failure { world in
            let publisher = EventPublisher()
            try await world.start(publisher, workers: [Self.worker(Fates())])
            let id = try await publisher.send(Asked(number: 1))
            try await world.rest(within: .seconds(60))
            world.core.hosts[0].launcher.settled(.refused(id), by: "one")
        }
        #expect(reason?.hasSuffix("which it has acknowledged") == true, "\(reason ?? "no failure")")
        let missing = await failure { world in
            let publisher = EventPublisher()
            let host = try await world.start(publisher, workers: [Self.worker(Fates())])
            let id = try await publisher.send(Asked(number: 1))
            try await world.rest(within: .seconds(60))
            host.stop("one")
            world.core.mayViolate = ["one"]
            world.core.hosts[0].launcher.settled(.refused(id), by: "one")
            world.core.mayViolate = []
        }
        #expect(missing == "0 events count as refused by one, which has refused 1")
    }

    @Test("What is left over at the end has to be said")
    func leftOver() async {
        let reason = await failure { world in
            let publisher = EventPublisher()
            let host = try await world.start(publisher, workers: [Self.worker(Fates())])
            world.stop("one", for: .seconds(3))
            for number in 0..<2 { publisher.publish(Asked(number: number)) }
            let books = host.statistics[0].sent
            guard books.waiting == 2 else { throw SimulationError("\(books)") }
            let said = world.core.auditEnd(of: world.core.hosts[0], ShutdownReport([("one", 2)]))
            guard said == nil else { throw SimulationError("\(said ?? "")") }
            if let found = world.core.auditEnd(of: world.core.hosts[0], ShutdownReport([])) { world.fail(found) }
        }
        #expect(reason == "2 events for one are not settled, and 0 are said to be left over")
    }

    // MARK: - Frames

    @Test("Frames are found in whatever pieces they pass", arguments: [1, 2, 3, 5, 8, 13, 1_000])
    func pieces(_ size: Int) {
        let buffer = CBORBuffer(minimumCapacity: 256)
        let messages = (1...5 as ClosedRange<UInt64>).map {
            ControlMessage.drain(graceMilliseconds: UntrustedNumber($0 * 1_000))
        }
        for message in messages { message.encode(into: buffer) }
        var frames = PassingFrames()
        var found: [ControlMessage] = []
        let bytes = buffer.copied()
        for begin in stride(from: 0, to: bytes.count, by: size) {
            bytes[begin..<min(bytes.count, begin + size)].withUnsafeBytes { piece in
                frames.pass(piece) { body in
                    if let message = try ControlMessage(decoding: body, limits: LinkLimits()) { found.append(message) }
                }
            }
        }
        #expect(found == messages)
    }

    @Test("Behind bytes that are no frame nothing counts")
    func broken() {
        let buffer = CBORBuffer(minimumCapacity: 256)
        ControlMessage.heartbeat.encode(into: buffer)
        let frame = buffer.copied()
        var frames = PassingFrames()
        var count = 0
        for bytes in [frame, [0xff, 0xff, 0xff, 0xff], frame] {
            bytes.withUnsafeBytes { frames.pass($0) { _ in count += 1 } }
        }
        #expect(count == 1)
    }
}
