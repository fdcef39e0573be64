import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Supervision

/// Recovers what workers had published before they were killed together with their host: reads their outboxes from the
/// files beside the journal, before any worker of this host is started.
///
/// A file that cannot be recovered gets another name, and no host looks at it again. Its events would come too late:
/// meanwhile the worker, started again, may have continued after its last bookmark. If the file cannot be renamed, its
/// register still gets another name, with the same effect. If this host ends during the recovery, it starts no worker,
/// and the files that it has not finished stay for the next host.
struct LeftOutboxes {
    private let path: String
    private let directory: StorageDirectory
    private let registers: [Register]
    private let host: HostCore
    /// The journal beside whose files the outboxes lie.
    private let journal: any EventRecording
    /// How long the workers of killed hosts may still live, and when this time is over for all of them.
    private let patience: Duration
    private let deadline: UInt64
    private let say: @Sendable (String) -> Void

    /// What a host that has ended has written down.
    private struct Register {
        let name: String
        /// What the names of its outboxes begin with.
        let stem: String
        let text: [UInt8]
        /// Keeps other hosts of this process from these files.
        let lock: LockFile
    }

    /// Why an outbox cannot be recovered, as the end of a sentence.
    private struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads the registers of all hosts that have ended; nil if they have left none.
    ///
    /// An error changes nothing. Its cause may pass, and a later call then finds all registers.
    ///
    /// - Parameters:
    ///   - path: the directory, which need not exist.
    ///   - journal: the publisher's own journal, whose directory this is.
    init?(
        at path: String,
        beside journal: any EventRecording,
        for host: HostCore,
        patience: Duration = .seconds(10),
        say: @escaping @Sendable (String) -> Void = { UnwaitedOutput.sayOnStandardError($0) }
    ) throws(SystemError) {
        do throws(SystemError) {
            directory = try StorageDirectory(at: path, makes: false)
        } catch {
            if error.isMissingFile { return nil }
            throw error
        }
        var registers: [Register] = []
        for name in try directory.names() {
            guard let stem = OutboxRegister.stem(of: name) else { continue }
            let lock: LockFile
            do throws(SystemError) {
                lock = try directory.openLock(name, makes: false)
            } catch {
                // The register's host has just ended, and has removed the register.
                if error.isMissingFile { continue }
                throw error
            }
            // Another host of this process may have the journal, too.
            guard try lock.tryLock(), let text = try Self.text(of: name, in: directory) else { continue }
            registers.append(Register(name: name, stem: stem, text: text, lock: lock))
        }
        if registers.isEmpty { return nil }
        self.registers = registers
        deadline = MonotonicClock.now() + patience.nanoseconds
        (self.path, self.journal, self.host, self.patience, self.say) = (path, journal, host, patience, say)
    }

    /// The text of a register; nil if it has none: its host was killed before the first line, or has just begun, or has
    /// removed the register.
    private static func text(of name: String, in directory: StorageDirectory) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            let file = try directory.open(name)
            var text = [UInt8](repeating: 0, count: try file.byteCount())
            let count = try text.withUnsafeMutableBytes { bytes in
                Result { () throws(SystemError) in try file.read(at: 0, into: bytes) }
            }.get()
            return count > 0 ? Array(text.prefix(count)) : nil
        } catch {
            if error.isMissingFile { return nil }
            throw error
        }
    }

    /// Recovers the outboxes, on a thread of its own that waits until their workers have ended.
    func recover() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let recover: @Sendable () -> Void = {
                recoverAll()
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

    private func recoverAll() {
        // The locks end with the recovery, and not with this value, which the caller may keep.
        defer { for register in registers { register.lock.unlock() } }
        for register in registers {
            if host.isEnding { return }
            recover(register)
        }
    }

    private func recover(_ found: Register) {
        let register: OutboxRegister
        do throws(OutboxRegister.Mistake) {
            register = try OutboxRegister(found.text)
        } catch {
            say("\(path)/\(found.name): outboxes of an earlier host's workers are not recovered: \(error.text)")
            setAside(found.name)
            return
        }
        var isWhole = true
        for outbox in register.outboxes {
            if host.isEnding { return }
            let file = OutboxRegister.fileName(ofOutbox: outbox.incarnation, stem: found.stem)
            let problem = recover(outbox, of: register, from: file)
            // The journal may have been closed meanwhile, so nothing says that all was recovered.
            if host.isEnding { return }
            guard let problem else {
                if !remove(file) { isWhole = false }
                continue
            }
            isWhole = false
            let present = setAside(file)
            host.reports.publish(
                EventsLost(
                    worker: outbox.worker,
                    incarnation: outbox.incarnation,
                    Link.Loss(
                        arrived: 0,
                        count: nil,
                        reason: """
                            it was killed with an earlier host, and its outbox \(path)/\(present) was not recovered to \
                            its end: \(problem)
                            """
                    )
                )
            )
        }
        // Without its register, an outbox cannot be read, even if its file could not be removed or set aside.
        if isWhole { remove(found.name) } else { setAside(found.name) }
    }

    /// Removes a file; if that fails, says why, and the caller goes on with the other files.
    ///
    /// - Returns: Whether the file is gone.
    @discardableResult
    private func remove(_ name: String) -> Bool {
        do throws(SystemError) {
            try directory.remove(name)
            return true
        } catch {
            say("\(path)/\(name): a file of an earlier host stays: \(error)")
            return false
        }
    }

    /// Gives a file a name that no host looks for; if that fails, says why, and the caller goes on with the others.
    ///
    /// - Returns: The file's present name.
    @discardableResult
    private func setAside(_ name: String) -> String {
        let other = name + OutboxRegister.setAside
        do throws(SystemError) {
            try directory.rename(name, to: other)
            return other
        } catch {
            say("\(path)/\(name): a file of an earlier host keeps its name: \(error)")
            return name
        }
    }

    /// Recovers one outbox; if its file is missing, there is nothing to recover.
    ///
    /// - Returns: Why the outbox, or its end, could not be recovered; nil if it was.
    private func recover(
        _ outbox: OutboxRegister.Outbox,
        of register: OutboxRegister,
        from file: String
    ) -> String? {
        let left: LeftOutbox
        do throws(SystemError) {
            let memory = try directory.openMemory(file)
            // This comes before all that the file says: after a restart of the machine the file may be as it was before
            // the worker's last events, or before all of them.
            guard register.boot == OperatingSystem.bootIdentity ?? "" else {
                return "the machine was restarted since, so the journal may lack events that have taken effect"
            }
            guard let memory else { return nil }
            // The worker could make the file longer; reading it to its end might then take hours.
            guard memory.byteCount <= MemoryFile.greatestOutboxBytes else {
                return "it has \(memory.byteCount) bytes, and no outbox has more than \(MemoryFile.greatestOutboxBytes)"
            }
            guard try waitForEnd(of: memory) else { return "after \(patience.text) a process still had it open" }
            guard let used = try LeftOutbox(memory) else { return nil }
            left = used
        } catch {
            return error.isMissingFile ? nil : error.description
        }
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
            mayHaveRecord: { name in
                let name = try text(of: name, in: register)
                return router.records(name) || isAwaited(name)
            },
            recordedName: { name in
                let name = try text(of: name, in: register)
                if router.records(name) { return name }
                guard isAwaited(name) else {
                    // The journal may have ended its recordings a moment ago. Then the event is not to be left out.
                    try checkJournal()
                    return nil
                }
                throw Problem(
                    description: """
                        the journal records \(name) only once this program uses a type of that name, which it has to do \
                        before the host's start
                        """
                )
            },
            newestRecord: { events in
                // The search may take long, and a host that is ending does not use its result.
                if host.isEnding { throw Problem(description: "the host is ending") }
                return try journal.lastRecorded(of: events, after: outbox.position)
            }
        )
        return found.damage
    }

    /// The name that a frame of an outbox spells or gives by number.
    ///
    /// - Throws: ``Problem``, also if no name is to be asked for any more.
    private func text(of name: WireName, in register: OutboxRegister) throws -> String {
        // Ends the recovery ahead of this event; the file stays for the next host.
        if host.isEnding { throw Problem(description: "the host is ending") }
        try checkJournal()
        switch name {
        case .text(let text): return text
        case .number(let number):
            guard let text = register.names[number] else {
                throw Problem(description: "its host's register has no name with the number \(number)")
            }
            return text
        }
    }

    /// Throws ``Problem`` if the journal is over, which records no name, so that all events would be left out.
    ///
    /// Another journal may have taken its place, but need not record the same names.
    private func checkJournal() throws {
        if journal.isOver { throw Problem(description: "the journal is closed") }
    }

    /// Whether the journal is to record events of this name, which it does not record yet.
    private func isAwaited(_ name: String) -> Bool {
        // Reports about the bridge are not recorded, even if the journal was given their names.
        let publisher = host.publisher
        guard publisher.recording.awaits(name), !EventNames.ofReports.contains(EventName(name)) else { return false }
        return publisher.channel(named: name)?.eventType._isSelfReport != true
    }
}

extension HostCore {
    /// Finds what the workers of earlier hosts had published, if they were killed together with their hosts.
    ///
    /// Called before anything is started. Not inlined: the optimizer of Swift 6.3.1 crashes where an async function
    /// lists a directory.
    ///
    /// - Throws: ``BridgeError`` if the files cannot be read. The caller must start no worker then: a later call may
    ///   read the events, and they would come behind those of the worker's next start.
    @inline(never)
    func findLeftOutboxes() throws(BridgeError) -> LeftOutboxes? {
        guard let journal = publisher.recording.present, let path = journal.outboxDirectory else { return nil }
        do throws(SystemError) {
            return try LeftOutboxes(at: path, beside: journal, for: self)
        } catch {
            throw BridgeError(.system, "what an earlier host's workers have left in \(path) cannot be read: \(error)")
        }
    }
}
