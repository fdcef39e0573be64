import DomainEvents
import EventBridge
import EventBridgeTesting
import FoundationEssentials
import TestSupport
import Testing

private struct PictureTaken: DomainEvent {
    let number: Int
    var picture: Data
    var thumbnail: Data
}

private struct PicturesWanted: DomainEvent {
    let sizes: [Int]
}

private struct PictureSpoilt: Error {}

/// An event out of which a handler can take the picture, and so have the only reference to it.
private final class PictureHeld: DomainEvent, @unchecked Sendable {
    // Sendable: one thread after the other has it.
    let number: Int
    var picture: Data

    init(number: Int, picture: Data) { (self.number, self.picture) = (number, picture) }
}

/// A large `Data` keeps the receiver's copy of its frame as its memory.
///
/// Handlers may do with it what they like.
@Suite("Events with large data", .timeLimit(.minutes(5)))
struct LargeDataTests {
    private static let sizes = [
        0, 1, 16_383, 16_384, 32_600, 32_768, 33_000, 65_400, 65_536, 70_000, 131_072, 500_000, 1_048_576, 3_000_000,
    ]

    private static func picture(_ number: Int, _ size: Int) -> PictureTaken {
        // Cheap to make and to check in a debug build, and different at each place.
        let words = (0..<(size / 8)).map { UInt64($0) &* 0x9E37_79B9 &+ UInt64(number) }
        var data = words.withUnsafeBytes { Data($0) }
        data.append(Data(repeating: UInt8(truncatingIfNeeded: number), count: size - data.count))
        return PictureTaken(number: number, picture: data, thumbnail: data.prefix(size / 3))
    }

    private static func isRight(_ event: PictureTaken) -> Bool {
        let expected = picture(event.number, sizes[event.number % sizes.count])
        return event.picture == expected.picture && event.thumbnail == expected.thumbnail
    }

    /// A worker that publishes such events when it is asked to.
    private static func camera(_ name: String) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [PicturesWanted.self]) { publisher in
            [
                publisher.subscribe(to: PicturesWanted.self) { wanted in
                    for (number, size) in wanted.sizes.enumerated() { publisher.publish(picture(number, size)) }
                }
            ]
        }
    }

    @Test("arrive whole, from a worker at the host and at other workers, and from the host at workers")
    func everywhere() async throws {
        let publisher = EventPublisher()
        let (here, first, second) = (Collected<Bool>(), Collected<Bool>(), Collected<Bool>())
        let subscription = publisher.subscribe(to: PictureTaken.self) { here.add(Self.isRight($0)) }
        func viewer(_ name: String, _ seen: Collected<Bool>) -> InMemoryWorker {
            InMemoryWorker(name, subscribes: [PictureTaken.self]) { publisher in
                [publisher.subscribe(to: PictureTaken.self) { seen.add(Self.isRight($0)) }]
            }
        }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.camera("camera"), viewer("first", first), viewer("second", second)]
        )
        publisher.publish(PicturesWanted(sizes: Self.sizes))
        await bridge.waitUntilIdle()
        for (number, size) in Self.sizes.enumerated() { try await publisher.send(Self.picture(number, size)) }
        for seen in [here, first, second] {
            #expect(await seen.wait { $0.count == 2 * Self.sizes.count } == Array(repeating: true, count: 28))
        }
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("are changed by their handlers, at once or later and on other threads, and by each for itself")
    func changed() async throws {
        let publisher = EventPublisher()
        let (kept, seen, tasks) = (Collected<PictureTaken>(), Collected<Bool>(), Collected<Bool>())
        let subscriptions = [
            publisher.subscribe(to: PictureTaken.self) { event in
                var own = event
                for index in own.picture.indices.prefix(100) { own.picture[index] ^= 0xFF }
                kept.add(own)
                seen.add(Self.isRight(event))
            },
            publisher.subscribe(to: PictureTaken.self) { seen.add(Self.isRight($0)) },
        ]
        let events = publisher.events(of: PictureTaken.self)
        let reading = Task {
            for try await event in events {
                let isRight = Self.isRight(event)
                var own = event.picture
                own.resetBytes(in: own.indices)
                tasks.add(isRight)
            }
        }
        let receiver = Collected<Bool>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                Self.camera("camera"),
                InMemoryWorker("viewer", subscribes: [PictureTaken.self]) { publisher in
                    [publisher.subscribe(to: PictureTaken.self) { receiver.add(Self.isRight($0)) }]
                },
            ]
        )
        let count = Self.sizes.count
        publisher.publish(PicturesWanted(sizes: Self.sizes + Self.sizes))
        await tasks.wait { $0.count == 2 * count }
        await receiver.wait { $0.count == 2 * count }
        await bridge.waitUntilIdle()
        #expect(seen.all == Array(repeating: true, count: 4 * count))
        #expect(tasks.all == Array(repeating: true, count: 2 * count))
        #expect(receiver.all == Array(repeating: true, count: 2 * count))
        // What was kept has not changed since.
        for event in kept.all {
            var own = event
            for index in own.picture.indices.prefix(100) { own.picture[index] ^= 0xFF }
            #expect(Self.isRight(own))
        }
        await bridge.shutdown()
        reading.cancel()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("become dead letters as they came, whatever the handler that failed has changed")
    func deadLetter() async throws {
        let publisher = EventPublisher()
        let seen = Collected<Bool>()
        let subscription = publisher.subscribe(to: PictureHeld.self) { event throws in
            seen.add(event.picture == Self.picture(event.number, Self.sizes[event.number]).picture)
            if seen.count > Self.sizes.count { return }
            var own = event.picture
            event.picture = Data()
            // Now only the bridge may refer to the same memory, and it keeps the payload for the dead letter.
            for index in own.indices.prefix(100) { own[index] ^= 0xFF }
            throw PictureSpoilt()
        }
        let album = InMemoryWorker("album", subscribes: [PicturesWanted.self]) { publisher in
            [
                publisher.subscribe(to: PicturesWanted.self) { wanted in
                    for (number, size) in wanted.sizes.enumerated() {
                        publisher.publish(PictureHeld(number: number, picture: Self.picture(number, size).picture))
                    }
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [album])
        publisher.publish(PicturesWanted(sizes: Self.sizes))
        await seen.wait { $0.count == Self.sizes.count }
        await bridge.waitUntilIdle()
        let letters = bridge.deadLetters
        #expect(letters.count == Self.sizes.count)
        for letter in letters { #expect(try bridge.redeliver(letter.id)) }
        await seen.wait { $0.count == 2 * Self.sizes.count }
        #expect(seen.all.allSatisfy { $0 })
        await bridge.shutdown()
        subscription.cancel()
    }
}
