import CBridgePlatform
import Testing

/// The filter of system calls is written before a program begins, where nothing can report that it had no room.
@Suite("The filter of system calls of a box")
struct CallFilterTests {
    private struct Step: Hashable {
        let bytes: UInt64
    }

    /// What no step is: no operation of a filter has these bits.
    private static let untouched = Step(bytes: .max)

    /// The steps that are written with this room, with what lies behind the room, and how many steps the filter has.
    private func write(network: Bool, connections: Bool, room: Int) -> (steps: [Step], count: Int) {
        var steps = Array(repeating: Self.untouched, count: room + 4)
        let count = steps.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { cbp_write_filter(network, connections, $0, room) } ?? 0
        }
        return (steps, count)
    }

    @Test("has room for all its steps, whatever the box refuses", arguments: [false, true], [false, true])
    func fits(network: Bool, connections: Bool) throws {
        #expect(MemoryLayout<Step>.size == Int(cbp_filter_step_bytes))
        let room = Int(cbp_filter_room)
        let (steps, count) = write(network: network, connections: connections, room: room)
        try #require(count <= room)
        #expect(steps[..<count].allSatisfy { $0 != Self.untouched })
        #expect(steps[count...].allSatisfy { $0 == Self.untouched })
    }

    @Test("of which not all steps have room writes none beyond it, and says how many there are")
    func doesNotFit() {
        let (whole, count) = write(network: true, connections: true, room: Int(cbp_filter_room))
        for room in 0..<count {
            let (steps, counted) = write(network: true, connections: true, room: room)
            #expect(counted == count)
            #expect(steps[..<room] == whole[..<room] && steps[room...].allSatisfy { $0 == Self.untouched }, "\(room)")
        }
    }
}
