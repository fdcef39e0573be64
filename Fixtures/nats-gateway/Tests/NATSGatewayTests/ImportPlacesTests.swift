import Testing

@testable import NATSGateway

@Suite struct ImportPlacesTests {
    @Test func bookmarkHasThePlacesOfAllStreamsThatAreStillRead() throws {
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
        // No gateway writes these numbers.
        let wrong = bookmark[..<8] + [UInt8](repeating: 0xFF, count: 16)
        #expect(ImportPlaces(of: [berlin], bookmark: Array(wrong)).known.isEmpty)
        #expect(ImportPlaces.most * 24 <= 256)
    }
}
