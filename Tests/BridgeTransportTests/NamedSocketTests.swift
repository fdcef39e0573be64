import BridgePlatform
import NamedSockets
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The files of a named socket: whose they must be, and what the socket does about others.
@Suite("Named sockets", .serialized, .timeLimit(.minutes(5)))
struct NamedSocketTests {
    /// A user that is not this one.
    private static let stranger: UInt32 = 65_534

    private static func permissions(_ path: String) -> UInt32? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt32(status.st_mode & 0o7777) : nil
    }

    private static func isThere(_ path: String) -> Bool { permissions(path) != nil }

    @Test("F1: what a killed process has left is replaced")
    func staleSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/run/s"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let socket = try NamedSocket(at: path)
            try withExtendedLifetime(socket) { _ = try UnixSocket.connect(to: path) }
            kill(getpid(), SIGKILL)
        }
        #expect(Self.isThere(path))
        #expect(try UnixSocket.listener(at: path) == .noListener)
        let socket = try NamedSocket(at: path)
        _ = try UnixSocket.connect(to: path)
        #expect(socket.look() == .own)
    }

    @Test("F2: a second process is told the number of the first, which does not notice")
    func secondProcess() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let socket = try NamedSocket(at: path)
        let pid = getpid()
        await #expect(processExitsWith: .success) { [path = path as String, pid = pid as Int32] in
            let error = #expect(throws: NamedSocketError.self) { _ = try NamedSocket(at: path) }
            #expect(error == .alreadyRunning(path, pid: pid))
            #expect(error?.description.contains("process \(pid)") == true)
        }
        // The same holds within a process: the lock belongs to an open file, not to a process.
        #expect(throws: NamedSocketError.alreadyRunning(path, pid: pid)) { _ = try NamedSocket(at: path) }
        #expect(socket.look() == .own)
        _ = try UnixSocket.connect(to: path)
    }

    @Test("F2: a process that serves the path without the lock, which was deleted, is left alone as well")
    func lockDeleted() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let socket = try NamedSocket(at: path)
        #expect(unlink(path + ".lock") == 0)
        #expect(throws: NamedSocketError.alreadyRunning(path, pid: getpid())) { _ = try NamedSocket(at: path) }
        #expect(socket.look() == .own)
        #expect(!Self.isThere(path + ".lock"), "who was refused leaves nothing")
    }

    @Test("F3: a path that is too long is refused with its length and the maximum, and never cut")
    func longPath() throws {
        let directory = try TemporaryDirectory()
        let maximum = UnixSocket.maximumPathLength
        #if os(Linux)
        #expect(maximum == 107)
        #endif
        let longest = directory.path + "/" + String(repeating: "s", count: maximum - directory.path.utf8.count - 1)
        let error = #expect(throws: NamedSocketError.self) { _ = try NamedSocket(at: longest + "s") }
        #expect(error == .pathTooLong(longest + "s", length: maximum + 1, maximum: maximum))
        #expect(!Self.isThere(longest))
        let socket = try NamedSocket(at: longest)
        _ = try UnixSocket.connect(to: longest)
        #expect(socket.path == longest)
    }

    @Test("F4: what is unsafe on the way or at the path is refused with the reason, and nothing is removed")
    func unsafePaths() throws {
        let directory = try TemporaryDirectory()
        let top = directory.path
        func make(_ name: String, _ mode: mode_t = 0o700) -> String {
            mkdir(top + "/" + name, 0o700)
            chmod(top + "/" + name, mode)
            return top + "/" + name
        }
        func refusal(_ path: String) -> String {
            do {
                _ = try NamedSocket(at: path)
                return "none"
            } catch {
                guard case .unsafePath(path, let why) = error else { return "\(error)" }
                return why
            }
        }
        let good = make("good")
        symlink(good, top + "/link")
        #expect(refusal(top + "/link/s") == "\(top)/link is a symbolic link")
        symlink(good + "/elsewhere", good + "/s")
        #expect(refusal(good + "/s") == "a symbolic link lies there")
        close(open(good + "/file", O_CREAT | O_WRONLY, 0o600))
        #expect(refusal(good + "/file") == "a regular file lies there")
        #expect(refusal(good + "/file/s") == "\(good)/file is no directory")
        #expect(refusal(good + "/missing/deeper/s") == "there is no directory \(good)/missing")
        for (name, mode) in [("group", 0o770), ("world", 0o707), ("readable", 0o755)] as [(String, mode_t)] {
            let open = make(name, mode)
            #expect(refusal(open + "/s").contains("is open to other users (\(String(mode, radix: 8)))"))
        }
        let writable = make("writable", 0o777)
        mkdir(writable + "/inner", 0o700)
        #expect(refusal(writable + "/inner/s").hasPrefix("other users may write in the directory \(writable) (777)"))
        symlink(good, good + "/s2.lock")
        #expect(refusal(good + "/s2") == "its lock s2.lock is a symbolic link")
        link(good + "/file", good + "/s3.lock")
        #expect(refusal(good + "/s3") == "its lock s3.lock has another hard link")
        for path in ["", "a\0b", good + "/", good + "/..", "/"] {
            #expect(refusal(path) == "expected the path of a file")
        }
        for path in ["/link", "/good/s", "/good/file", "/good/s2.lock", "/good/s3.lock"] {
            #expect(Self.isThere(top + path), "\(path) was removed")
        }
    }

    @Test("F4: what belongs to another user is refused, and nothing is removed")
    func foreignOwner() throws {
        guard geteuid() == 0 else {
            CurrentProcess.report("not tested: F4 with another owner, as only the superuser can give files away")
            return
        }
        let directory = try TemporaryDirectory()
        let top = directory.path
        mkdir(top + "/theirs", 0o700)
        mkdir(top + "/theirs/inner", 0o700)
        chown(top + "/theirs", Self.stranger, Self.stranger)
        let expected = [
            top + "/theirs/s":
                "the directory \(top)/theirs belongs to user \(Self.stranger), not to user 0",
            top + "/theirs/inner/s":
                "user \(Self.stranger) owns the directory \(top)/theirs, and could put another in its place",
        ]
        for (path, why) in expected {
            #expect(throws: NamedSocketError.unsafePath(path, why: why)) { _ = try NamedSocket(at: path) }
        }
        let left = try UnixSocket.bind(to: top + "/s")
        chown(top + "/s", Self.stranger, Self.stranger)
        #expect(
            throws: NamedSocketError.unsafePath(top + "/s", why: "a socket of user \(Self.stranger) lies there")
        ) { _ = try NamedSocket(at: top + "/s") }
        close(open(top + "/t.lock", O_CREAT | O_WRONLY, 0o600))
        chown(top + "/t.lock", Self.stranger, Self.stranger)
        let why = "its lock t.lock belongs to user \(Self.stranger), not to user 0"
        #expect(throws: NamedSocketError.unsafePath(top + "/t", why: why)) { _ = try NamedSocket(at: top + "/t") }
        symlink(top, top + "/link")
        lchown(top + "/link", Self.stranger, Self.stranger)
        let link = NamedSocketError.unsafePath(
            top + "/link/theirs/s",
            why: "\(top)/link is a symbolic link of user \(Self.stranger)"
        )
        #expect(throws: link) { _ = try NamedSocket(at: top + "/link/theirs/s") }
        #expect(Self.isThere(top + "/s") && Self.isThere(top + "/t.lock"))
        left.close()
    }

    @Test("F4: the system's own symbolic links on the way are followed")
    func systemLink() throws {
        guard geteuid() == 0 else {
            CurrentProcess.report("not tested: F4 with a link of the system, as only the superuser can make one")
            return
        }
        let directory = try TemporaryDirectory()
        mkdir(directory.path + "/real", 0o700)
        symlink("real", directory.path + "/link")
        let socket = try NamedSocket(at: directory.path + "/link/run/s")
        #expect(socket.look() == .own)
        #expect(Self.isThere(directory.path + "/real/run/s"))
    }

    @Test("F5: directory, socket and lock are this user's alone, whatever the umask", arguments: [0, 0o777, 0o277])
    func umasks(mask: UInt32) async {
        await #expect(processExitsWith: .success) { [mask = mask as UInt32] in
            let directory = try TemporaryDirectory()
            umask(mode_t(mask))
            let path = directory.path + "/run/s"
            let socket = try NamedSocket(at: path)
            #expect(Self.permissions(directory.path + "/run") == 0o700)
            #expect(Self.permissions(path) == 0o600)
            let lock = try #require(Self.permissions(path + ".lock"))
            #expect(lock & 0o077 == 0)
            socket.remove()
        }
    }

    @Test("a named socket removes its own files at its end, and no others")
    func removal() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let socket = try NamedSocket(at: path)
        socket.remove()
        #expect(!Self.isThere(path) && !Self.isThere(path + ".lock"))
        let second = try NamedSocket(at: path)
        #expect(rename(path, path + ".moved") == 0)
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        #expect(second.look() == .foreign)
        second.remove()
        #expect(Self.isThere(path), "what another process has put there is not ours")
        #expect(Self.isThere(path + ".moved"))
    }

    @Test("a path that does not begin at the top counts from the working directory")
    func relativePath() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            #expect(chdir(directory.path) == 0)
            let socket = try NamedSocket(at: "run/s")
            #expect(socket.path == directory.path + "/run/s")
            #expect(chdir("/") == 0)
            #expect(socket.look() == .own)
            socket.remove()
            #expect(!Self.isThere(directory.path + "/run/s"))
        }
    }
}
