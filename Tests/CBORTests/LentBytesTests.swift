import TestSupport
import Testing

@testable import CBOR

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A decoded value may keep the memory from which it was decoded, and the owner of that memory reads on.
@Suite("A decoded value that keeps its memory")
struct LentBytesTests {
    /// Memory with one encoded value, in which a `Data` is aligned.
    private final class Memory {
        private let buffer: UnsafeMutableRawBufferPointer
        let bytes: UnsafeMutableRawBufferPointer
        /// Where the `Data` begins.
        let place: Int
        let freed: Collected<Void>

        /// - Parameter misfit: by how many bytes the `Data` begins behind an aligned place.
        init(_ content: [UInt8], of data: Data = large, misfit: Int = 0, freed: Collected<Void> = Collected()) {
            self.freed = freed
            place = (0..<content.count).first { content[$0...].starts(with: data) } ?? 0
            buffer = .allocate(byteCount: content.count + 32, alignment: LentBytes.alignment)
            let lead = (16 * LentBytes.alignment + misfit - place % LentBytes.alignment) % LentBytes.alignment
            bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[lead..<lead + content.count])
            bytes.copyBytes(from: content)
        }

        deinit {
            buffer.deallocate()
            freed.add(())
        }

        func lend(capacity: Int? = nil) -> LentBytes {
            LentBytes(UnsafeRawBufferPointer(bytes), capacity: capacity ?? bytes.count, memory: self)
        }
    }

    private struct Photo: Codable, Equatable {
        var id = 1
        var picture: Data
        var frame = Data()
    }

    private static let large = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0) })

    private static func address(of data: Data) -> UnsafeRawPointer? { data.withUnsafeBytes { $0.baseAddress } }

    private static func isInside(_ data: Data, _ memory: Memory) -> Bool {
        guard let start = memory.bytes.baseAddress, let address = address(of: data) else { return false }
        return address >= UnsafeRawPointer(start) && address < UnsafeRawPointer(start) + memory.bytes.count
    }

    private static func decode<T: Decodable>(_ type: T.Type, _ memory: Memory, _ lender: LentBytes?) throws -> T {
        let decoder = CBORDecoder()
        decoder.lender = lender
        return try decoder.decode(type, from: UnsafeRawBufferPointer(memory.bytes))
    }

    @Test("is the same as one that was copied, and has indices from 0")
    func same() throws {
        let photo = Photo(picture: Self.large)
        let memory = Memory(try CBOREncoder().encode(photo))
        let lender = memory.lend()
        let lent = try Self.decode(Photo.self, memory, lender)
        #expect(lent == photo)
        #expect(Self.isInside(lent.picture, memory))
        #expect(lent.picture.startIndex == 0 && lent.picture[19_999] == Self.large[19_999])
        #expect(!Self.isInside(try Self.decode(Photo.self, memory, nil).picture, memory))
        withExtendedLifetime(lender) {}
    }

    @Test("may be changed in every way: the memory stays as it is as long as its owner reads there")
    func changed() throws {
        let content = try CBOREncoder().encode(Photo(picture: Self.large))
        let changes: [(inout Data) -> Void] = [
            { $0[0] ^= 0xFF }, { $0.append(1) }, { $0.removeAll() }, { $0.removeFirst(5) }, { $0.reverse() },
            { $0.replaceSubrange(3..<9, with: [1]) }, { $0.resetBytes(in: 0..<100) }, { $0.count = 5 },
            { $0.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) in bytes[1] = 7 } },
            { $0.append(contentsOf: Data(count: 40_000)) },
            { $0 += $0 }, { $0.reserveCapacity(100_000) },
        ]
        for change in changes {
            let memory = Memory(content)
            do {
                let lender = memory.lend()
                var (lent, expected) = (try Self.decode(Photo.self, memory, lender).picture, Self.large)
                change(&lent)
                change(&expected)
                #expect(lent == expected)
                #expect(Array(memory.bytes) == content)
                withExtendedLifetime(lender) {}
            }
            do {
                // The same after the owner has read: the value then has the memory for itself.
                var lent = try Self.decode(Photo.self, memory, memory.lend()).picture
                var expected = Self.large
                #expect(Self.isInside(lent, memory))
                change(&lent)
                change(&expected)
                #expect(lent == expected)
            }
        }
    }

    @Test("has one memory with what is decoded there again, and changes in neither")
    func decodedTwice() throws {
        let content = try CBOREncoder().encode(Photo(picture: Self.large))
        let memory = Memory(content)
        var first: Data
        var second: Data
        do {
            let lender = memory.lend()
            first = try Self.decode(Photo.self, memory, lender).picture
            second = try Self.decode(Photo.self, memory, lender).picture
            #expect(Self.address(of: first) == Self.address(of: second))
        }
        first[0] ^= 0xFF
        #expect(second == Self.large)
        second[1] ^= 0xFF
        #expect(first[1] == Self.large[1])
    }

    @Test("keeps the memory until the value is gone, and then gives it back")
    func givenBack() throws {
        let freed = Collected<Void>()
        var kept: Data?
        do {
            let memory = Memory(try CBOREncoder().encode(Photo(picture: Self.large)), freed: freed)
            kept = try Self.decode(Photo.self, memory, memory.lend()).picture
        }
        #expect(freed.count == 0)
        #expect(kept == Self.large)
        kept = nil
        #expect(freed.count == 1)
    }

    @Test("is copied if it is less than half of the memory, or lies elsewhere")
    func copied() throws {
        let content = try CBOREncoder().encode(Photo(picture: Self.large, frame: Self.large + Self.large))
        let memory = Memory(content, of: Self.large + Self.large)
        let lender = memory.lend()
        let photo = try Self.decode(Photo.self, memory, lender)
        #expect(!Self.isInside(photo.picture, memory) && Self.isInside(photo.frame, memory))
        #expect(photo.picture == Self.large && photo.frame == Self.large + Self.large)
        let wasteful = memory.lend(capacity: 80_001)
        #expect(!Self.isInside(try Self.decode(Photo.self, memory, wasteful).frame, memory))
        let other = Memory(content, of: Self.large + Self.large)
        #expect(!Self.isInside(try Self.decode(Photo.self, other, lender).frame, other))
        // Of two that overlap only the first is lent.
        let start = memory.place + LentBytes.alignment
        let inner = UnsafeRawBufferPointer(rebasing: memory.bytes[start..<start + 39_000])
        #expect(lender.data(inner) == nil && lender.misfit == 0)
    }

    @Test("is copied if it is not aligned, because programs may read larger types out of it", arguments: 1...15)
    func misfit(_ misfit: Int) throws {
        let memory = Memory(try CBOREncoder().encode(Photo(picture: Self.large)), misfit: misfit)
        let lender = memory.lend()
        let photo = try Self.decode(Photo.self, memory, lender)
        #expect(photo.picture == Self.large && !Self.isInside(photo.picture, memory))
        #expect(lender.misfit == misfit)
    }

    @Test("text and byte strings in pieces are copied")
    func otherForms() throws {
        let pieces: [UInt8] = [0x5F, 0x59, 0x4E, 0x20] + Self.large + [0xFF]
        for content in [pieces, try CBOREncoder().encode(Self.large.base64EncodedString())] {
            let memory = Memory(content)
            let lender = memory.lend()
            let data = try Self.decode(Data.self, memory, lender)
            #expect(data == Self.large && !Self.isInside(data, memory))
        }
    }
}
