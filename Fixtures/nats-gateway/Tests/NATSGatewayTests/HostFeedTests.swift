import Foundation
import Testing

@testable import NATSGateway

@Suite(.timeLimit(.minutes(1))) struct HostFeedTests {
    private func event(of node: Node) -> ImportedEvent {
        let headers = EventHeaders(id: "e", source: "s", name: "Counted", path: [node])
        return ImportedEvent(node: node, headers: headers, payload: [0x01])
    }

    @Test func eventsOfAllStreamsAreGivenOneAfterTheOtherAndOnlyTakenOnesCount() async throws {
        let nodes = [try node("berlin"), try node("rome")]
        let given = Changing<[[UInt8]]>([])
        let isBusy = Changing(false)
        let feed = HostFeed(places: ImportPlaces(of: nodes, bookmark: nil)) { event in
            #expect(!isBusy.value)
            isBusy.change { $0 = true }
            await Task.yield()
            isBusy.change { $0 = false }
            let bookmark = event.bookmark ?? []
            given.change { $0.append(bookmark) }
            let sequence = ImportPlaces(of: [event.node], bookmark: bookmark).known[event.node]?.sequence ?? 0
            return sequence % 10 == 3 ? .refused("every tenth") : .taken
        } report: { _ in
        }
        let settled = Changing<[String?]>([])
        await withTaskGroup(of: Void.self) { group in
            for node in nodes {
                group.addTask {
                    for sequence in 1...50 as ClosedRange<UInt64> {
                        feed.give(event(of: node), from: .init(created: 9, sequence: sequence)) { refusal in
                            settled.change { $0.append(refusal) }
                        }
                    }
                }
            }
        }
        await settled.wait { $0.count == 100 }
        #expect(settled.value.count { $0 == "every tenth" } == 10)
        // Each bookmark has its own event's place, and the places of the events that were taken before it.
        var taken: [Node: UInt64] = [:]
        for bookmark in given.value {
            let found = ImportPlaces(of: nodes, bookmark: bookmark).known.mapValues(\.sequence)
            let new = found.filter { $0.value != taken[$0.key] }
            #expect(new.count == 1)
            for (node, sequence) in new {
                // A refused event's place was in its own bookmark only.
                #expect(sequence == (taken[node] ?? 0) + ((taken[node] ?? 0) % 10 == 2 && sequence % 10 == 4 ? 2 : 1))
                if sequence % 10 != 3 { taken[node] = sequence }
            }
        }
        #expect(nodes.allSatisfy { taken[$0] == 50 })
        feed.stop()
    }

    /// What the feed gives, settles and reports for events with these places.
    private func feed(
        _ sequences: ClosedRange<UInt64>,
        custody: @escaping @Sendable (_ sequence: UInt64, _ attempt: Int) -> Custody
    ) async throws -> (given: [UInt64], settled: [UInt64], reports: [GatewayReport]) {
        let berlin = try node("berlin")
        let given = Changing<[UInt64]>([])
        let reports = Changing<[GatewayReport]>([])
        let feed = HostFeed(places: ImportPlaces(of: [berlin], bookmark: nil)) { event in
            let sequence = ImportPlaces(of: [berlin], bookmark: event.bookmark).known[berlin]?.sequence ?? 0
            given.change { $0.append(sequence) }
            return custody(sequence, given.value.count { $0 == sequence })
        } report: { report in
            reports.change { $0.append(report) }
        }
        let settled = Changing<[UInt64]>([])
        for sequence in sequences {
            feed.give(event(of: berlin), from: .init(created: 9, sequence: sequence)) { _ in
                settled.change { $0.append(sequence) }
                // After the last event the feed has nothing more to do.
                if sequence == sequences.upperBound { feed.stop() }
            }
        }
        while !feed.isOver { await Task.yield() }
        return (given.value, settled.value, reports.value)
    }

    @Test func noEventIsGivenBehindOneThatTheHostDidNotTake() async throws {
        let found = try await feed(1...3) { sequence, _ in sequence == 2 ? .ended : .taken }
        #expect(found.given == [1, 2] && found.settled == [1] && found.reports.isEmpty)
    }

    @Test func eventWithoutRoomIsGivenAgainAndSaidOnce() async throws {
        let found = try await feed(1...3) { sequence, attempt in
            sequence == 2 && attempt < 4 ? .notNow("the outbox is full") : .taken
        }
        #expect(found.given == [1, 2, 2, 2, 2, 3] && found.settled == [1, 2, 3])
        #expect(
            found.reports == [
                .note("events of other nodes wait: the outbox is full"),
                .note("events of other nodes are taken again (the outbox is full)"),
            ]
        )
    }

    @Test func hostThatTakesNothingEndsTheGateway() async throws {
        let reason = GatewayReport.again("the host takes no events: it is broken")
        let found = try await feed(1...3) { sequence, _ in sequence == 2 ? .failed(reason) : .taken }
        #expect(found.given == [1, 2] && found.settled == [1] && found.reports == [reason])
    }

    @Test func hostThatHasRoomGetsAnEventOnTheThreadOfItsGiver() throws {
        let berlin = try node("berlin")
        let threads = Changing<[UInt]>([])
        let feed = HostFeed(places: nil) { _ in
            threads.change { $0.append(UInt(pthread_self())) }
            return .taken
        } report: { _ in
        }
        for sequence in 1...3 as ClosedRange<UInt64> {
            feed.give(event(of: berlin), from: .init(created: 9, sequence: sequence)) { _ in }
        }
        feed.stop()
        #expect(threads.value == Array(repeating: UInt(pthread_self()), count: 3))
    }

    @Test func giverGoesOnThoughTheEventsOfOtherStreamsDoNotEnd() async throws {
        let (berlin, rome) = (try node("berlin"), try node("rome"))
        let count: UInt64 = 20_000
        let threads = Changing<[UInt]>([])
        let flood = Changing<HostFeed?>(nil)
        let feed = HostFeed(places: nil) { _ in
            threads.change { $0.append(UInt(pthread_self())) }
            // Rome's next event is there before this one is done.
            let next = UInt64(threads.value.count)
            if next < count { flood.value?.give(event(of: rome), from: .init(created: 9, sequence: next)) { _ in } }
            return .taken
        } report: { _ in
        }
        flood.change { $0 = feed }
        let given = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                feed.give(event(of: berlin), from: .init(created: 9, sequence: 1)) { _ in }
                let this = UInt(pthread_self())
                continuation.resume(returning: threads.value.count { $0 == this })
            }
        }
        #expect((1..<count).contains(UInt64(given)))
        await threads.wait { $0.count == count }
        flood.change { $0 = nil }
        feed.stop()
    }

    @Test func feedNeverRunsOnAThreadThatHasOnlyAPlace() async throws {
        let berlin = try node("berlin")
        let threads = Changing<[UInt]>([])
        let feed = HostFeed(places: ImportPlaces(of: [berlin], bookmark: nil)) { _ in
            threads.change { $0.append(UInt(pthread_self())) }
            return .taken
        } report: { _ in
        }
        feed.executor.queue.suspend()
        feed.begin(berlin, behind: .init(created: 9, sequence: 0))
        // If `begin` had run the feed on this thread, the feed would be idle now, and would give the event here, too.
        feed.give(event(of: berlin), from: .init(created: 9, sequence: 1)) { _ in }
        #expect(threads.value.isEmpty)
        feed.executor.queue.resume()
        await threads.wait { $0.count == 1 }
        feed.stop()
    }

    /// - Parameter old: whether the host has kept a place in rome's stream from an earlier gateway.
    @Test(arguments: [true, false])
    func eventThatTheHostLostIsReadAgainThoughItsStreamHadNoOther(old: Bool) async throws {
        let (berlin, rome, paris) = (try node("berlin"), try node("rome"), try node("paris"))
        func place(_ sequence: UInt64) -> ImportPlaces.Place { .init(created: 1, sequence: sequence) }
        let first = old ? ImportPlaces.bookmark([berlin: place(7), rome: place(7)]) : nil
        let kept = Changing<[UInt8]?>(nil)
        let feed = HostFeed(places: ImportPlaces(of: [berlin, rome], bookmark: first)) { event in
            // The host ends before it has read the event from rome, which lies in this gateway's outbox.
            if event.node == berlin { kept.change { $0 = event.bookmark } }
            return .taken
        } report: { _ in
        }
        // Both streams were read up to message 9, by the gateway that this one replaces.
        feed.begin(berlin, behind: place(9))
        feed.begin(rome, behind: place(9))
        feed.give(event(of: berlin), from: place(10)) { _ in }
        let acknowledged = Changing(false)
        feed.give(event(of: rome), from: place(10)) { _ in acknowledged.change { $0 = true } }
        await acknowledged.wait { $0 }
        feed.stop()
        // The next gateway begins; the broker was told that message 10 of rome is handled.
        let places = ImportPlaces(of: [berlin, rome], bookmark: kept.value)
        #expect(places.known == [berlin: place(10), rome: place(9)])
        var machine = ImportMachine<String>(node: paris, known: places.known[rome])
        _ = machine.handle(.connected)
        let look = ImportLook(created: 1, first: 1, last: 10, consumers: [2], floor: 10, delivered: 10)
        let starts = machine.handle(.looked(look)).compactMap { action -> UInt64? in
            if case .makeConsumer(_, let start, _, _) = action { start } else { nil }
        }
        #expect(starts == [10])
    }

    @Test func replacementGivesNothingBeforeEachStreamHasItsPlaceOrCannotBeRead() async throws {
        let nodes = [try node("berlin"), try node("rome"), try node("oslo")]
        func place(_ sequence: UInt64) -> ImportPlaces.Place { .init(created: 1, sequence: sequence) }
        let old = ImportPlaces.bookmark(Dictionary(uniqueKeysWithValues: nodes.map { ($0, place(1)) }))
        let given = Changing<[[Node: UInt64]]>([])
        let feed = HostFeed(places: ImportPlaces(of: nodes, bookmark: old)) { event in
            given.change { $0.append(ImportPlaces(of: nodes, bookmark: event.bookmark).known.mapValues(\.sequence)) }
            return .taken
        } report: { _ in
        }
        feed.awaitPlaces(in: nodes)
        feed.begin(nodes[0], behind: place(3))
        for sequence in 4...5 as ClosedRange<UInt64> { feed.give(event(of: nodes[0]), from: place(sequence)) { _ in } }
        feed.begin(nodes[1], behind: place(7))
        #expect(given.value.isEmpty)
        feed.begin(nodes[2], behind: nil)
        await given.wait { $0.count == 2 }
        feed.give(event(of: nodes[0]), from: place(6)) { _ in }
        await given.wait { $0.count == 3 }
        feed.stop()
        #expect(given.value == [4, 5, 6].map { [nodes[0]: $0, nodes[1]: 7, nodes[2]: 1] })
    }

    @Test func bookmarksKeepThePlaceInAStreamThatIsNotReadYet() async throws {
        let (berlin, rome) = (try node("berlin"), try node("rome"))
        let old = ImportPlaces.bookmark([rome: .init(created: 1, sequence: 7)])
        let given = Changing<[[Node: UInt64]]>([])
        let feed = HostFeed(places: ImportPlaces(of: [berlin, rome], bookmark: old)) { event in
            let known = ImportPlaces(of: [berlin, rome], bookmark: event.bookmark).known
            given.change { $0.append(known.mapValues(\.sequence)) }
            return .taken
        } report: { _ in
        }
        feed.begin(berlin, behind: .init(created: 1, sequence: 3))
        feed.give(event(of: berlin), from: .init(created: 1, sequence: 4)) { _ in }
        feed.begin(rome, behind: .init(created: 1, sequence: 9))
        feed.give(event(of: berlin), from: .init(created: 1, sequence: 5)) { _ in }
        await given.wait { $0.count == 2 }
        feed.stop()
        #expect(given.value == [[berlin: 4, rome: 7], [berlin: 5, rome: 9]])
    }
}
