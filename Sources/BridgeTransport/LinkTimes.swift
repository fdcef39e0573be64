import Synchronization

/// The times of a link that threads look at without its lock.
struct LinkTimes: ~Copyable {
    /// When the reading thread began its last read, on the monotonic clock; 0 while it is busy with what it read.
    let lastRead = Atomic<UInt64>(0)

    /// When the unfinished frame last made progress, on the monotonic clock; 0 if no frame is unfinished.
    let frameProgress = Atomic<UInt64>(0)

    /// When the last write ended, on the wall clock; 0 before the first.
    let lastWriteEnded = Atomic<UInt64>(0)
}
