import Synchronization

/// The times of a link's reading thread, which other threads look at.
struct ReadingTimes: ~Copyable {
    /// When the thread began its last read, on the monotonic clock; 0 while it is busy with what it read.
    let lastRead = Atomic<UInt64>(0)

    /// When the unfinished frame last made progress, on the monotonic clock; 0 if no frame is unfinished.
    let frameProgress = Atomic<UInt64>(0)
}
