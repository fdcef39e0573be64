package import BridgePlatform

/// The directory of a journal, checked before any file in it is opened.
package struct JournalPlace: Sendable {
    package let path: String
    package let storage: any JournalStorage
    private let directory: StorageDirectory

    /// Opens the directory; `makes` says whether to make a missing directory, which only this user may access.
    package init(at path: String, makes: Bool) throws(JournalError) {
        self.path = path
        let status: FileStatus
        do throws(SystemError) {
            directory = try StorageDirectory(at: path, makes: makes)
            status = try directory.status()
        } catch {
            throw JournalError(error, at: path)
        }
        guard status.owner == CurrentProcess.user else {
            throw JournalError(.unsuitableDirectory, "the journal \(path): another user owns the directory")
        }
        guard status.permissions & 0o077 == 0 else {
            throw JournalError(
                .unsuitableDirectory,
                "the journal \(path): other users have permissions in the directory, where events lie; expected 0700"
            )
        }
        guard directory.fileSystem != .remote else {
            throw JournalError(
                .unsuitableDirectory,
                """
                the journal \(path): its file system belongs to another machine or to a program, so locks may not hold \
                and writes may not last; a journal needs a disk of this machine
                """
            )
        }
        storage = DirectoryStorage(directory)
    }

    /// Locks the journal for this process, until the lock is released.
    package func lock() throws(JournalError) -> LockFile {
        let lock: LockFile
        do throws(SystemError) {
            lock = try directory.openLock("lock")
            if try lock.tryLock() {
                try lock.sign()
                return lock
            }
        } catch {
            throw JournalError(error, at: path)
        }
        let holder = lock.signer().map { "process \($0)" } ?? "another process"
        throw JournalError(.inUse, "the journal \(path): \(holder) has it open")
    }
}
