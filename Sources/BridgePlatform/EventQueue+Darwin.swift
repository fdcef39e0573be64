#if canImport(Darwin)
import Darwin

/// The kernel's list of descriptors to watch: a kqueue, with an `EVFILT_USER` entry that wakes the one waiting thread.
///
/// Any thread may add, change, remove and wake; one thread waits and then reads the events that came.
final class EventQueue: PollerQueue, @unchecked Sendable {
    // Sendable although the memory of `ready` changes: only the one waiting thread touches it. The rest never changes.
    private let queue: FileDescriptor
    private let ready: UnsafeMutablePointer<kevent>

    private static let batch = 128
    private static let wakeIdentifier: UInt = 0

    init() throws(SystemError) {
        queue = FileDescriptor(owning: try SystemError.check("making a kqueue") { kqueue() })
        ready = .allocate(capacity: Self.batch)
        ready.initialize(repeating: kevent(), count: Self.batch)
        // If one of these throws, the deinit frees the memory: all properties have their values.
        try FileDescriptor.setCloseOnExec(queue.rawValue)
        try apply(Self.wakeIdentifier, EVFILT_USER, EV_ADD | EV_CLEAR, token: 0)
    }

    deinit {
        ready.deallocate()
    }

    func add(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        // The read filter also reports a hang-up. If only the hang-up is wanted, `EV_CLEAR` keeps unread data from
        // making the thread spin.
        let watchesReading = !interest.isDisjoint(with: [.readable, .peerHangUp])
        let onlyHangUp = !interest.contains(.readable)
        let edge = interest.contains(.edgeTriggered) ? EV_CLEAR : 0
        if watchesReading {
            try apply(UInt(descriptor), EVFILT_READ, EV_ADD | (onlyHangUp ? EV_CLEAR : edge), token: token)
        }
        if interest.contains(.writable) {
            try apply(UInt(descriptor), EVFILT_WRITE, EV_ADD | edge, token: token)
        }
    }

    func change(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        remove(descriptor)
        try add(descriptor, interest, token: token)
    }

    func remove(_ descriptor: CInt) {
        try? apply(UInt(descriptor), EVFILT_READ, EV_DELETE, token: 0)
        try? apply(UInt(descriptor), EVFILT_WRITE, EV_DELETE, token: 0)
    }

    func wake() {
        try? apply(Self.wakeIdentifier, EVFILT_USER, 0, filterFlags: UInt32(NOTE_TRIGGER), token: 0)
    }

    func wake(at deadline: UInt64) -> Bool { false }

    func wait(atMost limit: UInt64?) -> Int {
        guard let limit else { return max(0, Int(kevent(queue.rawValue, nil, 0, ready, CInt(Self.batch), nil))) }
        var time = timespec(tv_sec: Int(limit / 1_000_000_000), tv_nsec: Int(limit % 1_000_000_000))
        return max(0, Int(kevent(queue.rawValue, nil, 0, ready, CInt(Self.batch), &time)))
    }

    func event(at index: Int) -> (token: UInt64, readiness: Poller.Readiness)? {
        let event = ready[index]
        if event.filter == Int16(EVFILT_USER) { return nil }
        let isReading = event.filter == Int16(EVFILT_READ)
        var readiness: Poller.Readiness = isReading ? .readable : .writable
        if event.flags & UInt16(EV_EOF) != 0 { readiness.insert(isReading ? .peerHangUp : .hangUp) }
        if event.flags & UInt16(EV_ERROR) != 0 { readiness.insert(.error) }
        return (UInt64(UInt(bitPattern: event.udata)), readiness)
    }

    private func apply(
        _ identifier: UInt,
        _ filter: CInt,
        _ flags: CInt,
        filterFlags: UInt32 = 0,
        token: UInt64
    ) throws(SystemError) {
        var change = kevent(
            ident: identifier,
            filter: Int16(filter),
            flags: UInt16(flags),
            fflags: filterFlags,
            data: 0,
            udata: UnsafeMutableRawPointer(bitPattern: UInt(token))
        )
        try SystemError.check("watching descriptor \(identifier)") { kevent(queue.rawValue, &change, 1, nil, 0, nil) }
    }
}
#endif
