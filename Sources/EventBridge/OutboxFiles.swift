import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks

/// Keeps the outboxes of a host's workers in files beside the journal, where they outlive the host and the workers.
///
/// A host without a journal makes no file. The first outbox makes the directory and the host's ``OutboxRegister``. If
/// another journal has taken the place of the publisher's own, outboxes of later starts lie beside that one: it records
/// their events.
final class OutboxFiles: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let publisher: EventPublisher
    private let router: EventRouter
    private let say: @Sendable (String) -> Void

    /// Held while a register is made, and while the names that are known by then are written into it.
    private let beginning = Lock()

    /// Held while a line is appended: a few bytes, once for each name and each start of a worker.
    private let lock = Lock()
    /// By the paths of their directories; nearly always one.
    private var places: [String: Place] = [:]
    private var hasEnded = false
    private var hasSaidFailure = false

    /// A directory, and the register in it.
    private final class Place: @unchecked Sendable {
        // Sendable: everything mutable is guarded by the lock of the object that has the place.
        let directory: StorageDirectory
        let stem: String
        private let register: StorageFile
        private var length = 0
        private var lastName: UInt64 = 0
        /// Tells other hosts that this one has not ended.
        var registerLock: LockFile?
        /// The starts whose outboxes have a file here.
        var kept: Set<UInt64> = []
        /// Why the register lacks something that was to be written; nil as long as it lacks nothing.
        private(set) var failure: SystemError?

        init(at path: String) throws(SystemError) {
            directory = try StorageDirectory(at: path, makes: true)
            let number = Randomness.next()
            stem = OutboxRegister.hexadecimal(number)
            register = try directory.create(OutboxRegister.fileName(stem: stem))
        }

        func lockRegister() throws(SystemError) -> LockFile {
            let lock = try directory.openLock(OutboxRegister.fileName(stem: stem))
            try lock.take()
            return lock
        }

        func append(_ line: [UInt8]) {
            guard failure == nil else { return }
            do throws(SystemError) {
                try line.withUnsafeBytes { bytes in
                    Result { () throws(SystemError) in try register.write(bytes, at: length) }
                }.get()
                length += line.count
            } catch {
                failure = error
            }
        }

        /// Appends a name, unless it was appended before.
        ///
        /// Numbers are given out in their order and without holes. A name that comes before the earlier ones comes
        /// again behind them.
        func append(_ name: String, number: UInt64) {
            guard number == lastName + 1 else { return }
            lastName = number
            append(OutboxRegister.line(of: name, number: number))
        }

        func fileName(_ incarnation: UInt64) -> String {
            OutboxRegister.fileName(ofOutbox: incarnation, stem: stem)
        }

        func removeRegister() { try? directory.remove(OutboxRegister.fileName(stem: stem)) }
    }

    /// - Parameter say: takes the sentence about an outbox that is not kept.
    init(
        of publisher: EventPublisher,
        _ router: EventRouter,
        say: @escaping @Sendable (String) -> Void = { UnwaitedOutput.sayOnStandardError($0) }
    ) {
        (self.publisher, self.router, self.say) = (publisher, router, say)
    }

    /// Makes the file for the outbox of a worker's start; nil without a journal, or if the file cannot be made.
    ///
    /// Without a file, what the worker has published and the host has not recorded is gone if both are killed.
    func make(for worker: String, _ incarnation: UInt64, _ limits: LinkLimits) -> MemoryFile? {
        guard let journal = publisher.recording.present, let path = journal.outboxDirectory,
            !lock.withLock({ hasEnded })
        else { return nil }
        do throws(SystemError) {
            let place = try begun(at: path)
            let position = journal.report.lastPosition
            let line = OutboxRegister.line(of: .init(worker: worker, incarnation: incarnation, position: position))
            let failure = lock.withLock {
                place.append(line)
                return place.failure
            }
            if let failure { throw failure }
            let file = try place.directory.makeMemory(
                place.fileName(incarnation),
                byteCount: MemoryFile.outboxBytes(limits)
            )
            let isKept = lock.withLock {
                if !hasEnded { place.kept.insert(incarnation) }
                return !hasEnded
            }
            if isKept { return file }
            // The next host may have read the register before this outbox was in it.
            try place.directory.remove(place.fileName(incarnation))
            return nil
        } catch {
            // The file system cannot reserve room. The guide says that outboxes are not kept there.
            if error.isUnsupported { return nil }
            sayOnce("what worker \"\(worker)\" publishes does not outlive a kill of host and worker: \(error)")
            return nil
        }
    }

    private func begun(at path: String) throws(SystemError) -> Place {
        try beginning.withLock { () throws(SystemError) -> Place in
            if let place = lock.withLock({ places[path] }) { return place }
            let made = try Place(at: path)
            let held = try made.lockRegister()
            let head = OutboxRegister.head(of: publisher.source, boot: OperatingSystem.bootIdentity ?? "")
            lock.withLock {
                if !hasEnded { made.registerLock = held }
                made.append(head)
                places[path] = made
            }
            // From now on each name is in all registers before a worker learns its number.
            router.tellNames { [weak self] name, number in self?.append(name, number: number) }
            return made
        }
    }

    private func append(_ name: String, number: UInt64) {
        lock.withLock { for place in places.values { place.append(name, number: number) } }
    }

    private func sayOnce(_ text: String) {
        let isFirst = lock.withLock {
            defer { hasSaidFailure = true }
            return !hasSaidFailure
        }
        if isFirst { say(text) }
    }

    /// Removes the file of a start whose outbox was read, or whose process did not begin.
    func remove(_ incarnation: UInt64) {
        guard let place = lock.withLock({ places.values.first { $0.kept.remove(incarnation) != nil } }) else { return }
        try? place.directory.remove(place.fileName(incarnation))
    }

    /// Removes each register, unless it has an outbox that was not read; called when all workers have ended.
    func finish() {
        let read = beginning.withLock { lock.withLock { places.values.filter(\.kept.isEmpty) } }
        for place in read { place.removeRegister() }
        leave()
    }

    /// Leaves the files to the next host, which may be one of this process; from now on none is made.
    ///
    /// Called when the workers have ended or were killed. The next host waits for the end of each process and of each
    /// thread that has an outbox open.
    func leave() {
        let held = lock.withLock {
            hasEnded = true
            return places.values.compactMap { $0.registerLock.take() }
        }
        for registerLock in held { registerLock.unlock() }
    }
}
