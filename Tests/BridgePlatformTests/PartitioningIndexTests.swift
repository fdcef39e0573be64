import Testing

@testable import BridgePlatform

@Suite("A search by halves")
struct PartitioningIndexTests {
    @Test("finds the first element of the second part, or the end, in collections of any length and beginning")
    func everyPlace() {
        for count in 0...40 {
            // Each number twice, and a slice whose first index is not 0.
            let numbers = [-1] + (0..<count).map { $0 / 2 }
            for wanted in -1...count {
                let slice = numbers[1...]
                #expect(
                    slice.partitioningIndex { $0 >= wanted } == slice.firstIndex { $0 >= wanted } ?? slice.endIndex
                )
            }
        }
    }

    @Test("asks about few elements of many")
    func steps() {
        var asked = 0
        let place = (0..<1_000_000).partitioningIndex {
            asked += 1
            return $0 >= 314_159
        }
        #expect(place == 314_159 && asked <= 20)
    }
}
