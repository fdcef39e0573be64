import BridgePlatform
import Synchronization

/// Words of 64 bits in a mapped file: each store is atomic, and survives the process that made it.
package struct SharedWords: @unchecked Sendable {
    // Sendable: the words are atomic, and the mapping lives as long as this value.
    private let mapping: MemoryMapping
    private let base: UnsafeMutableRawPointer
    package let count: Int

    init?(_ mapping: MemoryMapping) {
        guard let base = mapping.bytes.baseAddress else { return nil }
        self.mapping = mapping
        self.base = base
        count = mapping.bytes.count / 8
    }

    /// Makes a file of zeros.
    package static func make(at path: String, byteCount: Int) throws -> SharedWords {
        try SharedWords(MemoryFile.create(at: path, byteCount: byteCount) { _ in }, of: path, byteCount: byteCount)
    }

    /// Opens a file that another process has made.
    package init(at path: String, byteCount: Int) throws {
        try self.init(MemoryFile.map(at: path), of: path, byteCount: byteCount)
    }

    private init(_ mapping: MemoryMapping, of path: String, byteCount: Int) throws {
        guard let words = SharedWords(mapping), words.count * 8 >= byteCount else {
            throw LedgerError("\(path) has \(mapping.bytes.count) bytes, expected \(byteCount)")
        }
        self = words
    }

    /// `index` is below ``count``; a mapping begins on a page, so that each word is aligned.
    private func word(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (base + index * 8).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    package subscript(index: Int) -> UInt64 {
        get { word(index).pointee.load(ordering: .acquiring) }
        nonmutating set { word(index).pointee.store(newValue, ordering: .releasing) }
    }

    /// Adds atomically, and returns the value after the addition.
    package func add(_ value: UInt64, at index: Int) -> UInt64 {
        word(index).pointee.wrappingAdd(value, ordering: .acquiringAndReleasing).newValue
    }
}
