#if os(Linux)
import CBridgePlatform
import Glibc

/// The kernel's list of descriptors to watch: epoll, with an eventfd and a timer that wake its one waiting thread.
///
/// Any thread may add, change, remove and wake; one thread waits and then reads the events that came.
final class EventQueue: PollerQueue, @unchecked Sendable {
    // Sendable although the memory of `ready` changes: only the one waiting thread touches it. The rest never changes.
    private let queue: FileDescriptor
    private let wakeUp: FileDescriptor
    private let timer: FileDescriptor
    private let ready: UnsafeMutablePointer<cbp_ready>

    /// Marks the eventfd and the timer; the poller counts its tokens from 1.
    private static let wakeToken: UInt64 = 0

    init() throws(SystemError) {
        queue = FileDescriptor(owning: try SystemError.check("making an epoll queue") { cbp_epoll_create() })
        wakeUp = FileDescriptor(owning: try SystemError.check("making an eventfd") { cbp_event_open() })
        timer = FileDescriptor(owning: try SystemError.check("making a timer") { cbp_timer_open() })
        ready = .allocate(capacity: Int(cbp_epoll_batch))
        ready.initialize(repeating: cbp_ready(), count: Int(cbp_epoll_batch))
        // If one of these throws, the deinit frees the memory: all properties have their values.
        //
        // Both are edge-triggered, so they need not be read: each write and each deadline is a new edge.
        try add(wakeUp.rawValue, [.readable, .edgeTriggered], token: Self.wakeToken)
        try add(timer.rawValue, [.readable, .edgeTriggered], token: Self.wakeToken)
    }

    deinit {
        ready.deallocate()
    }

    func add(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        try SystemError.check("watching descriptor \(descriptor)") {
            cbp_epoll_add(queue.rawValue, descriptor, flags(of: interest), token)
        }
    }

    func change(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        try SystemError.check("changing the watch on descriptor \(descriptor)") {
            cbp_epoll_change(queue.rawValue, descriptor, flags(of: interest), token)
        }
    }

    /// Ends a watch.
    ///
    /// If the owner has closed the descriptor before, by mistake, the error is ignored.
    func remove(_ descriptor: CInt) {
        _ = cbp_epoll_remove(queue.rawValue, descriptor)
    }

    func wake() {
        var one: UInt64 = 1
        // The eventfd is never read, so the write would fail after 2^64 - 2 wake-ups. It also fails if other code of
        // this process has closed the descriptor.
        _ = write(wakeUp.rawValue, &one, MemoryLayout<UInt64>.size)
    }

    /// False only if other code of this process has closed the timer's descriptor, or a sandbox refuses the call.
    func wake(at deadline: UInt64) -> Bool { cbp_timer_set(timer.rawValue, deadline) == 0 }

    func wait(atMost limit: UInt64?) -> Int {
        let nanoseconds = limit.map { Int64(clamping: $0) } ?? -1
        let count = cbp_epoll_wait(queue.rawValue, ready, nanoseconds)
        if count >= 0 { return Int(count) }
        let error = SystemError.current("waiting at an epoll queue")
        if error.code == EINTR { return 0 }
        // This happens if other code of this process has closed the queue's descriptor, or if a sandbox refuses all
        // waits at it. If the poller took the error for a wake-up, the error would come back over and over.
        fatalError("\(error)")
    }

    func event(at index: Int) -> (token: UInt64, readiness: Poller.Readiness)? {
        let event = ready[index]
        if event.token == Self.wakeToken { return nil }
        return (event.token, Poller.Readiness(rawValue: UInt8(truncatingIfNeeded: event.flags)))
    }
}

/// The bits of `Interest` and of `Readiness` are those of the shim.
private func flags(of interest: Poller.Interest) -> UInt32 {
    UInt32(interest.rawValue)
}
#endif
