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
                // The refused event's place was in its own bookmark only.
                #expect(sequence == (taken[node] ?? 0) + ((taken[node] ?? 0) % 10 == 2 && sequence % 10 == 4 ? 2 : 1))
                if sequence % 10 != 3 { taken[node] = sequence }
            }
        }
        #expect(nodes.allSatisfy { taken[$0] == 50 })
        feed.stop()
    }

    @Test func noEventIsGivenBehindOneThatTheHostDidNotTake() async throws {
        let berlin = try node("berlin")
        let given = Changing<[UInt64]>([])
        let feed = HostFeed(places: ImportPlaces(of: [berlin], bookmark: nil)) { event in
            let place = ImportPlaces(of: [berlin], bookmark: event.bookmark).known[berlin]
            given.change { $0.append(place?.sequence ?? 0) }
            return place?.sequence == 2 ? .ended : .taken
        }
        let settled = Changing<[UInt64]>([])
        for sequence in 1...3 as ClosedRange<UInt64> {
            feed.give(event(of: berlin), from: .init(created: 9, sequence: sequence)) { _ in
                settled.change { $0.append(sequence) }
            }
        }
        await given.wait { $0.count == 2 }
        feed.stop()
        #expect(given.value == [1, 2] && settled.value == [1])
    }

    @Test func placesOfAnotherProcessAreForgottenBeforeTheNextEvent() async throws {
        let (berlin, rome) = (try node("berlin"), try node("rome"))
        let old = ImportPlaces.bookmark([rome: .init(created: 1, sequence: 7)])
        let given = Changing<[[Node: ImportPlaces.Place]]>([])
        let feed = HostFeed(places: ImportPlaces(of: [berlin, rome], bookmark: old)) { event in
            let known = ImportPlaces(of: [berlin, rome], bookmark: event.bookmark).known
            given.change { $0.append(known) }
            return .taken
        }
        feed.give(event(of: berlin), from: .init(created: 1, sequence: 1)) { _ in }
        feed.overtake()
        feed.give(event(of: berlin), from: .init(created: 1, sequence: 2)) { _ in }
        await given.wait { $0.count == 2 }
        feed.stop()
        #expect(given.value.map(\.count) == [2, 1])
    }
}
