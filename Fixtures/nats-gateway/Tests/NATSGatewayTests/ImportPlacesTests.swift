import Testing

@testable import NATSGateway

@Suite struct ImportPlacesTests {
    @Test func bookmarkHasThePlacesOfAllStreamsThatAreStillRead() async throws {
        let (berlin, rome, oslo) = (try node("berlin"), try node("rome"), try node("oslo"))
        let places: [Node: ImportPlaces.Place] = [
            berlin: .init(created: 1_700_000_000_000_000_000, sequence: 4_711),
            rome: .init(created: 3, sequence: .max >> 1),
        ]
        let bookmark = ImportPlaces.bookmark(places)
        #expect(bookmark.count == 48)
        #expect(ImportPlaces(of: [rome, berlin, oslo], bookmark: bookmark).known == places)
        #expect(ImportPlaces(of: [oslo, rome], bookmark: bookmark).known == [rome: try #require(places[rome])])
        for bytes in [nil, [], bookmark + [1, 2], Array(bookmark.dropLast())] as [[UInt8]?] {
            #expect(ImportPlaces(of: [berlin], bookmark: bytes).known.count == ((bytes?.count ?? 0) >= 24 ? 1 : 0))
        }
        // Numbers that no gateway writes.
        let wrong = bookmark[..<8] + [UInt8](repeating: 0xFF, count: 16)
        #expect(ImportPlaces(of: [berlin], bookmark: Array(wrong)).known.isEmpty)
        #expect(ImportPlaces.most * 24 <= 256)
    }

    @Test func eventsOfAllStreamsAreGivenOneAfterTheOtherAndOnlyTakenOnesCount() async throws {
        let nodes = [try node("berlin"), try node("rome")]
        let places = ImportPlaces(of: nodes, bookmark: nil)
        let given = Changing<[[UInt8]]>([])
        await withTaskGroup(of: Void.self) { group in
            for node in nodes {
                group.addTask {
                    for sequence in 1...50 as ClosedRange<UInt64> {
                        _ = await places.give(at: .init(created: 9, sequence: sequence), of: node) { bookmark in
                            await Task.yield()
                            given.change { $0.append(bookmark) }
                            return sequence % 10 == 3 ? .refused("every tenth") : .taken
                        }
                    }
                }
            }
        }
        #expect(given.value.count == 100)
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
    }
}
