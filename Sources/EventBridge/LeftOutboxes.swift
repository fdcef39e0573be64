import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Supervision

/// Takes up what workers had published before they were killed together with their host: reads their outboxes from the
/// files beside the journal, before any worker of this host is started.
///
/// A file that cannot be recovered gets another name, and no host looks at it again. Its events would come too late:
/// meanwhile the worker, started again, may have continued after its last bookmark. If this host ends during the
/// recovery, it starts no worker, and the files that it has not finished stay for the next host.
struct LeftOutboxes {
    private let path: String
    private let directory: StorageDirectory
    private let host: HostCore
    /// How long the workers of killed hosts may still live, and when this time is over for all of them.
    private let patience: Duration
    private let deadline: UInt64
    private let say: (String) -> Void

    /// Why an outbox cannot be recovered, as the end of a sentence.
    private struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter path: the directory; nothing is left if it does not exist.
    init?(
        at path: String,
        for host: HostCore,
        patience: Duration = .seconds(10),
        say: @escaping (String) -> Void = { UnwaitedOutput.sayOnStandardError($0) }
    ) throws(SystemError) {
        do throws(SystemError) {
            directory = try StorageDirectory(at: path, makes: false)
        } catch {
            if error.isMissingFile { return nil }
            throw error
        }
        deadline = MonotonicClock.now() + patience.nanoseconds
        (self.path, self.host, self.patience, self.say) = (path, host, patience, say)
    }

    /// Recovers the outboxes of all hosts that have ended; the calling thread waits until their workers have, too.
    func recover() throws(SystemError) {
        for name in try directory.names() {
            guard let stem = OutboxRegister.stem(of: name) else { continue }
            if host.isEnding { return }
            do throws(SystemError) {
                let lock = try directory.openLock(name)
                // Another host of this process may have the journal, too.
                guard try lock.tryLock() else { continue }
                defer { withExtendedLifetime(lock) {} }
                try recover(stem, register: name)
            } catch {
                say("\(path)/\(name): outboxes of an earlier host's workers are not recovered: \(error)")
            }
        }
    }

    private func recover(_ stem: String, register name: String) throws(SystemError) {
        let file = try directory.open(name)
        let count = try file.byteCount()
        // The host was killed before its first line, or has just begun.
        if count == 0 { return }
        let register: OutboxRegister
        do throws(OutboxRegister.Mistake) {
            register = try OutboxRegister(text(of: file, count))
        } catch {
            say("\(path)/\(name): outboxes of an earlier host's workers are not recovered: \(error.text)")
            return try setAside(name)
        }
        var isWhole = true
        for outbox in register.outboxes {
            if host.isEnding { return }
            let file = OutboxRegister.fileName(ofOutbox: outbox.incarnation, stem: stem)
            let found = recover(outbox, of: register, from: file)
            // The journal may have been closed meanwhile, so nothing says that all was recovered.
            if host.isEnding { return }
            guard let problem = found else {
                try directory.remove(file)
                continue
            }
            isWhole = false
            try setAside(file)
            host.reports.publish(
                EventsLost(
                    worker: outbox.worker,
                    incarnation: outbox.incarnation,
                    Link.Loss(
                        arrived: 0,
                        count: nil,
                        reason: """
                            it was killed with an earlier host, and its outbox \(path)/\(file)\(OutboxRegister.setAside) \
                            was not recovered to its end: \(problem)
                            """
                    )
                )
            )
        }
        // Without its register, an outbox cannot be read.
        if isWhole { try directory.remove(name) } else { try setAside(name) }
    }

    private func text(of file: StorageFile, _ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = (try? file.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))) ?? 0
        }
    }

    private func setAside(_ name: String) throws(SystemError) {
        try directory.rename(name, to: name + OutboxRegister.setAside)
    }

    /// Recovers one outbox; a missing file is none.
    ///
    /// - Returns: Why the outbox, or its end, could not be recovered; nil if it was.
    private func recover(
        _ outbox: OutboxRegister.Outbox,
        of register: OutboxRegister,
        from file: String
    ) -> String? {
        let memory: MemoryFile
        do throws(SystemError) {
            guard let opened = try directory.openMemory(file) else { return nil }
            // The worker could make the file longer; reading it to its end might then take hours.
            guard opened.byteCount <= MemoryFile.greatestOutboxBytes else {
                return "it has \(opened.byteCount) bytes, and no outbox has more than \(MemoryFile.greatestOutboxBytes)"
            }
            guard try waitForEnd(of: opened) else { return "after \(patience.text) a process still had it open" }
            memory = opened
        } catch {
            return error.isMissingFile ? nil : error.description
        }
        guard let left = LeftOutbox(memory) else { return nil }
        guard register.boot == OperatingSystem.bootIdentity ?? "" else {
            return "the machine was restarted since, so the journal may lack events that have taken effect"
        }
        // If the machine was started since, the page may be older than the last events.
        if left.isSettled { return nil }
        guard let worker = host.indices(of: outbox.worker).first.map(host.worker),
            worker.peer.peerName == outbox.worker
        else { return "there is no worker of that name any more" }
        return recover(left, of: outbox, register, for: worker)
    }

    /// Waits until no process holds the file: before that, the worker may still write.
    ///
    /// - Returns: False if a process still holds it when the time is over, or when this host ends.
    private func waitForEnd(of memory: MemoryFile) throws(SystemError) -> Bool {
        while try !memory.tryLock() {
            if host.isEnding || MonotonicClock.now() >= deadline { return false }
            CurrentProcess.pause(milliseconds: 5)
        }
        return true
    }

    private func recover(
        _ left: LeftOutbox,
        of outbox: OutboxRegister.Outbox,
        _ register: OutboxRegister,
        for worker: HostedWorker
    ) -> String? {
        let (specification, router) = (worker.specification, host.router)
        let link = Link(
            peerName: outbox.worker,
            role: .host,
            ownSource: EventSource(restored: register.host),
            limits: specification.limits.link,
            poller: host.poller
        )
        let events = PeerEvents(
            of: worker.peer,
            to: router,
            publishable: specification.publishable,
            mayImport: specification.mayImport,
            takesBookmarks: true
        )
        let found = link.recover(
            left,
            of: EventSource(restored: EventSource(origin: outbox.worker, incarnation: outbox.incarnation)),
            to: events,
            recordedName: { name in
                // A closed journal records no name, so all events would be left out.
                guard host.publisher.recording.outboxDirectory != nil else {
                    throw Problem(description: "the journal is closed")
                }
                switch name {
                case .text(let text): return router.records(text) ? text : nil
                case .number(let number):
                    guard let text = register.names[number] else {
                        throw Problem(description: "its host's register has no name with the number \(number)")
                    }
                    return router.records(text) ? text : nil
                }
            },
            newestRecord: { events in
                try host.publisher.recording.lastRecorded(of: events, after: outbox.position)
            }
        )
        return found.damage
    }
}

extension HostCore {
    /// Takes up what the workers of earlier hosts had published, if they were killed together with their hosts.
    ///
    /// Called when events are routed, and before a worker is started.
    func recoverLeftOutboxes() async {
        guard let path = publisher.recording.outboxDirectory, OperatingSystem.fileExists(path) else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let recover: @Sendable () -> Void = { [self] in
                do throws(SystemError) {
                    try LeftOutboxes(at: path, for: self)?.recover()
                } catch {
                    let what = "outboxes of an earlier host's workers are not recovered"
                    UnwaitedOutput.sayOnStandardError("\(what): \(error)")
                }
                continuation.resume()
            }
            do throws(SystemError) {
                try PlatformThread.start(name: "recovery", recover)
            } catch {
                // The caller's thread has to wait for the files itself.
                recover()
            }
        }
    }
}
