public import Synchronization

/// Finds the channel of an event type without a lock.
///
/// Each `publish` of a typed event looks up the type, on any number of threads; new types are rare. So readers walk an
/// open-addressing table, with one atomic load for each key. Writers take turns under the publisher's lock. When a
/// table is half full, a writer puts a larger copy in its place. The smaller tables live as long as the publisher,
/// because a reader may still be in them; together they are smaller than the largest.
@usableFromInline
package final class ChannelTable: @unchecked Sendable {
    // Sendable: slots are published with release stores and read with acquire loads; the publisher's lock guards the
    // rest.

    @usableFromInline
    final class Table {
        @usableFromInline let mask: Int
        @usableFromInline let keys: UnsafeMutablePointer<Atomic<UInt>>
        @usableFromInline let channels: UnsafeMutablePointer<Unmanaged<AnyEventChannel>?>
        var count = 0

        init(capacity: Int) {
            mask = capacity - 1
            keys = .allocate(capacity: capacity)
            channels = .allocate(capacity: capacity)
            for index in 0..<capacity { (keys + index).initialize(to: Atomic(0)) }
            channels.initialize(repeating: nil, count: capacity)
        }

        deinit {
            keys.deinitialize(count: mask + 1)
            keys.deallocate()
            channels.deallocate()
        }

        @inlinable
        func slot(of key: UInt) -> Int {
            // Metatype addresses differ in their middle bits; the golden ratio spreads them over the high bits.
            Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 40) & mask
        }

        func insert(_ channel: Unmanaged<AnyEventChannel>, key: UInt) {
            var index = slot(of: key)
            while keys[index].load(ordering: .relaxed) != 0 { index = (index + 1) & mask }
            channels[index] = channel
            keys[index].store(key, ordering: .releasing)
            count += 1
        }
    }

    @usableFromInline let current: Atomic<UnsafeMutableRawPointer>
    private var tables: [Table]
    private var owned: [AnyEventChannel] = []

    init() {
        let first = Table(capacity: 64)
        tables = [first]
        current = Atomic(Unmanaged.passUnretained(first).toOpaque())
    }

    @inlinable
    func channel(for key: UInt) -> Unmanaged<AnyEventChannel>? {
        let table = Unmanaged<Table>.fromOpaque(current.load(ordering: .acquiring))
        return table._withUnsafeGuaranteedRef { table in
            var index = table.slot(of: key)
            while true {
                let found = table.keys[index].load(ordering: .acquiring)
                if found == key { return table.channels[index] }
                if found == 0 { return nil }
                index = (index + 1) & table.mask
            }
        }
    }

    /// Adds a channel; only under the publisher's lock.
    func insert(_ channel: AnyEventChannel, key: UInt) {
        owned.append(channel)
        var table = tables[tables.count - 1]
        if (table.count + 1) * 2 > table.mask + 1 {
            let larger = Table(capacity: (table.mask + 1) * 2)
            for index in 0...table.mask {
                let existing = table.keys[index].load(ordering: .relaxed)
                if existing != 0, let moved = table.channels[index] { larger.insert(moved, key: existing) }
            }
            tables.append(larger)
            current.store(Unmanaged.passUnretained(larger).toOpaque(), ordering: .releasing)
            table = larger
        }
        table.insert(.passUnretained(channel), key: key)
    }
}
