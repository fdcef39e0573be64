/// Events that a transaction holds: of any type, oldest first, in memory that grows with them.
///
/// The code is not generic, for the reason that ``RawEvent`` gives. One thread at a time uses an object of this class,
/// so Swift need not check for exclusive access. The deinit of an event may publish, so the object is released without
/// a lock.
final class UnpublishedEvents {
    private struct Entry {
        /// The event's channel, which lives as long as its publisher.
        let channel: Unmanaged<AnyEventChannel>
        let event: UnsafeMutableRawPointer
        let number: UInt64
        let nanosecondsSinceEpoch: UInt64
        /// The whole context; nil if number and time are enough.
        let context: UnsafeMutablePointer<EventContext>?

        var stamp: EventStamp {
            context.map { .full($0.pointee) } ?? .fresh(number: number, nanosecondsSinceEpoch: nanosecondsSinceEpoch)
        }
    }

    @exclusivity(unchecked) private var entries: [Entry] = []
    /// How many events, from the first on, are gone from their memory.
    @exclusivity(unchecked) private var gone = 0
    @exclusivity(unchecked) private var chunks: [UnsafeMutableRawPointer] = []
    /// How many bytes the last chunk has.
    @exclusivity(unchecked) private var capacity = 0
    /// How many bytes of the last chunk are in use.
    @exclusivity(unchecked) private var used = 0

    private static let smallestChunk = 512
    private static let largestChunk = 32_768

    deinit {
        for entry in entries[gone...] {
            entry.channel._withUnsafeGuaranteedRef { $0.eventType.destroyRaw(entry.event) }
            entry.context?.deinitialize(count: 1)
        }
        for chunk in chunks { chunk.deallocate() }
    }

    var count: Int { entries.count }

    /// Puts a copy of the event at the end.
    func append(_ event: RawEvent, _ stamp: EventStamp, of channel: AnyEventChannel) {
        let place = allocate(channel.eventBytes)
        channel.eventType.copyRaw(from: event.address, to: place)
        let channel = Unmanaged.passUnretained(channel)
        switch stamp {
        case .fresh(let number, let time):
            entries.append(
                Entry(channel: channel, event: place, number: number, nanosecondsSinceEpoch: time, context: nil)
            )
        case .full(let context), .owed(let context, _):
            let full = allocate(MemoryLayout<EventContext>.stride).bindMemory(to: EventContext.self, capacity: 1)
            full.initialize(to: context)
            entries.append(Entry(channel: channel, event: place, number: 0, nanosecondsSinceEpoch: 0, context: full))
        }
    }

    /// Publishes each event, or gives it to `joined` if that transaction still holds events; called once.
    func publish(from publisher: EventPublisher, behind joined: Transaction?) {
        for entry in entries {
            let stamp = entry.stamp
            entry.context?.deinitialize(count: 1)
            // The event leaves its memory below, so the deinit must not release it again.
            gone += 1
            entry.channel._withUnsafeGuaranteedRef { channel in
                if let joined, joined.hold(RawEvent(entry.event), stamp, of: channel) {
                    channel.eventType.destroyRaw(entry.event)
                } else {
                    channel.publish(moving: RawEvent(entry.event), stamp, from: publisher)
                }
            }
        }
    }

    /// Memory for an event or a context, aligned to 16 bytes.
    private func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
        let needed = (byteCount + 15) / 16 * 16
        if capacity - used < needed {
            capacity = max(min(max(capacity * 2, Self.smallestChunk), Self.largestChunk), needed)
            used = 0
            chunks.append(.allocate(byteCount: capacity, alignment: 16))
        }
        defer { used += needed }
        return chunks[chunks.count - 1] + used
    }
}
