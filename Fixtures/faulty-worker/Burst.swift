import BridgePlatform
import BridgeProtocol
import DomainEvents
import ExampleDomain

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Publishes far more than a window holds, so that the worker dies with events in its outbox.
enum Burst {
    /// The shared outbox, which `scribble` overwrites; found before the worker begins.
    private static let scribbled = SharedMemory.find()

    static func isMeant(by misbehaviour: Misbehaviour) -> Bool {
        [.burst, .burstOutside, .burstHeld, .scribble].contains(misbehaviour)
    }

    /// Finds the shared outbox while the environment still names it.
    static func prepare(_ misbehaviour: Misbehaviour) {
        if misbehaviour == .scribble { _ = scribbled }
    }

    static func run(_ misbehaviour: Misbehaviour, _ event: WorkRequested, _ publisher: EventPublisher) {
        // The event that killed the worker comes again; once is enough.
        guard EventContext.current?.attempt == 1 else { return }
        if misbehaviour == .burstOutside {
            // A process that cannot start a thread is of no use to any test.
            guard (try? PlatformThread.start(name: "burst", { publish(event, publisher) })) != nil else {
                exit(1)
            }
            return
        }
        publish(event, publisher, scribbling: misbehaviour == .scribble)
    }

    private static func publish(_ event: WorkRequested, _ publisher: EventPublisher, scribbling: Bool = false) {
        let counter = Counter(path: event.text)
        var number: Int64 = 0
        while number < event.number {
            number += 1
            publisher.publish(WorkDone(number: number, text: event.text, attempt: 1))
            counter?.set(number)
        }
        if scribbling { scribbled?.scribble(seed: UInt64(bitPattern: event.number)) }
        if counter == nil { kill(getpid(), SIGKILL) }
        while true { pause() }
    }
}

/// A number in a mapped file: other processes that map the file see each change at once.
private struct Counter {
    private let place: UnsafeMutableRawPointer

    /// Nil if there is no such file.
    init?(path: String) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let address = mmap(nil, MemoryLayout<Int64>.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let address, address != MAP_FAILED else { return nil }
        place = address
    }

    func set(_ number: Int64) {
        place.storeBytes(of: number, as: Int64.self)
    }
}

/// The shared outbox, through a second mapping that the worker's runtime does not know.
private struct SharedMemory: @unchecked Sendable {
    // Sendable: one thread scribbles, and other threads may find any bytes in this memory.
    let mapping: MemoryMapping

    static func find() -> SharedMemory? {
        guard let number = CurrentProcess.environment("EVENT_BRIDGE_OUTBOX_FD").flatMap({ CInt($0) }),
            let copy = try? FileDescriptor.duplicate(number), let file = MemoryFile(inherited: copy),
            let mapping = try? file.map()
        else { return nil }
        return SharedMemory(mapping: mapping)
    }

    /// Writes random bytes over the first chunk and, now and then, the head, but not over the mark, its first 8 bytes.
    func scribble(seed: UInt64) {
        var state = seed
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 11
        }
        let words = mapping.bytes.bindMemory(to: UInt64.self)
        for _ in 0..<4_096 {
            let end = next() % 8 == 0 ? OutboxLayout.headBytes : OutboxLayout.slotBytes
            words[1 + Int(next()) % (end / 8 - 1)] = next()
        }
    }
}
