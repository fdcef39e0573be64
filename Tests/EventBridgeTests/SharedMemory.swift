import BridgePlatform
import FoundationEssentials
import Synchronization
import TestSupport

// The C library's `open`, `pread` and `pwrite`: tests damage a worker's memory behind its back.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The memory that a worker shares with its host, as another process has it.
///
/// The descriptor outlives the worker: the host reads the same memory after the worker's death.
final class SharedMemory: Sendable {
    private let descriptor: CInt

    /// Nil if the worker has no such memory, or is gone.
    init?(of worker: Int32) {
        let directory = "/proc/\(worker)/fd"
        let path = (try? FileManager.default.contentsOfDirectory(atPath: directory))?
            .map { "\(directory)/\($0)" }
            .first { path in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
                // The other memory file is the host's own, which no other process can write.
                return target?.contains("memfd:event-bridge (") == true
            }
        guard let path, case let descriptor = open(path, O_RDWR | O_CLOEXEC), descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// - Returns: Whether everything was written.
    func write(_ bytes: [UInt8], at offset: Int) -> Bool {
        bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) } == bytes.count
    }

    /// The 64-bit number at an offset; 0 beyond the end.
    func word(at offset: Int) -> UInt64 {
        var word: UInt64 = 0
        return pread(descriptor, &word, 8, off_t(offset)) == 8 ? word : 0
    }

    func write(_ word: UInt64, at offset: Int) -> Bool {
        withUnsafeBytes(of: word) { write(Array($0), at: offset) }
    }
}

/// Changes the memory of a worker on a thread of its own until it is stopped: numbers, single bits, whole pages.
final class MemoryRacer: Sendable {
    private final class Progress: Sendable {
        let isStopped = Atomic(false)
        let changes = Atomic(0)
    }

    private let progress: Progress
    private let thread: PlatformThread

    init(_ memory: SharedMemory, seed: UInt64) throws {
        let progress = Progress()
        self.progress = progress
        thread = try PlatformThread.startJoinable(name: "racer") {
            var random = SeededGenerator(seed: seed)
            while !progress.isStopped.load(ordering: .relaxed) {
                Self.change(memory, &random)
                progress.changes.wrappingAdd(1, ordering: .relaxed)
            }
        }
    }

    /// - Returns: How often it has changed the memory.
    func stop() -> Int {
        progress.isStopped.store(true, ordering: .relaxed)
        thread.join()
        return progress.changes.load(ordering: .relaxed)
    }

    /// Changes the head page, with its counts and the first chunk's place, or the first chunks, more often at their
    /// beginning.
    private static func change(_ memory: SharedMemory, _ random: inout SeededGenerator) {
        let (head, first) = (4_096, 4_096 + 4_096)
        let end = [128, head, first, 1 << 20, 4 << 20][random.below(5)]
        let place = 8 * random.below(end / 8)
        switch random.below(8) {
        case 0: _ = memory.write(random.next(), at: place)
        case 1: _ = memory.write(UInt64(random.below(1 << 14)), at: place)
        case 2: _ = memory.write(Array(repeating: 0, count: 4_096), at: place & ~4_095)
        case 3: _ = memory.write(memory.word(at: place) &+ 1, at: place)
        default: _ = memory.write(memory.word(at: place) ^ (1 << UInt64(random.below(64))), at: place)
        }
    }
}
