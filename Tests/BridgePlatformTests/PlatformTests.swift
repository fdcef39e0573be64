import BridgePlatform
import Locks
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// All tests of this module that touch descriptors, children or signals.
///
/// They run one after the other, because signals belong to the process. Tests that count descriptors or children are
/// exit tests, because nothing else runs there.
@Suite(.serialized, .timeLimit(.minutes(5)))
enum PlatformTests {}

/// Ends a wait that would hang the whole run: far beyond anything a slow machine needs.
let watchdogNanoseconds: UInt64 = 240_000_000_000

struct NothingArrived: Error, CustomStringConvertible {
    let expected: Int
    let found: Int
    var description: String { "\(found) of \(expected) arrived before the watchdog's time was over" }
}

/// Carries values from other threads to the test.
///
/// `@unchecked Sendable` is sound: `values` is touched under `lock` only.
final class Mailbox<Value: Sendable>: @unchecked Sendable {
    private let lock = Lock()
    private let changed: Condition
    private var values: [Value] = []

    init() {
        changed = Condition(lock: lock)
    }

    func put(_ value: Value) {
        lock.withLock {
            values.append(value)
            changed.broadcast()
        }
    }

    var contents: [Value] { lock.withLock { values } }

    /// All values, once there are `count`.
    @discardableResult
    func wait(for count: Int = 1) throws -> [Value] {
        try wait {
            $0.count >= count
        } orThrow: {
            NothingArrived(expected: count, found: $0.count)
        }
    }

    func wait(
        until isEnough: ([Value]) -> Bool,
        orThrow error: ([Value]) -> NothingArrived = { NothingArrived(expected: -1, found: $0.count) }
    ) throws -> [Value] {
        let deadline = MonotonicClock.now() + watchdogNanoseconds
        return try lock.withLock {
            while !isEnough(values) {
                if !changed.wait(untilNanoseconds: deadline), !isEnough(values) { throw error(values) }
            }
            return values
        }
    }
}

/// Runs `body` and checks that it leaves no descriptor and no child process.
///
/// Descriptors and children belong to the process, where other tests run at the same time: the caller is an exit test.
func leavingNothingBehind(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) throws {
    // Descriptors that the runtime opens for a moment may be gone afterwards, so only new descriptors count.
    waitForStartedRuntime()
    let before = try openDescriptors()
    try body()
    let left = try openDescriptors().subtracting(before)
    #expect(left.isEmpty, "descriptors were left", sourceLocation: sourceLocation)
    var information = siginfo_t()
    let found = waitid(P_ALL, 0, &information, WEXITED | WSTOPPED | WNOHANG | WNOWAIT)
    #expect(found == -1 && errno == ECHILD, "a child was left", sourceLocation: sourceLocation)
}

/// All descriptors with their targets, except for timers: Dispatch keeps one for each clock, and a poller has one.
private func openDescriptors() throws -> Set<String> {
    Set(try CurrentProcess.openDescriptors().map(target).filter { !$0.hasSuffix("[timerfd]") })
}

private func target(of descriptor: CInt) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    let length = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(descriptor): \(path)"
}

/// Makes `plain`, which may not be executed, and `garbage`, which may and cannot.
func makeFilesThatAreNoPrograms(in directory: String) {
    for (name, mode) in [("plain", 0o644), ("garbage", 0o755)] {
        let file = open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, mode_t(mode))
        writeAll(file, Array("this is no program\n".utf8))
        close(file)
    }
}

/// A poller that is stopped at the end of `body`.
func withPoller(_ body: (Poller) throws -> Void) throws {
    let poller = try Poller(name: "test poller")
    defer { poller.stop() }
    try body(poller)
}

/// Everything that can be read until the end of the stream.
func readToEnd(_ descriptor: CInt) -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = retryingInterrupted { read(descriptor, &buffer, buffer.count) }
        if count <= 0 { return result }
        result += buffer[..<count]
    }
}

@discardableResult
func writeAll(_ descriptor: CInt, _ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { bytes in
            retryingInterrupted { write(descriptor, bytes.baseAddress, bytes.count) }
        }
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

/// What a program printed, and how it ended.
func run(_ request: SpawnRequest) throws -> (output: String, exit: ChildExit) {
    let pipe = try FileDescriptor.pipe()
    var request = request
    request.standardOutput = .descriptor(pipe.writing.rawValue)
    let child = try ChildProcess.spawn(request)
    pipe.writing.close()
    let output = String(decoding: readToEnd(pipe.reading.rawValue), as: UTF8.self)
    return (output, child.waitForExit())
}

/// A program with arguments, without a shell.
func program(_ path: String, _ arguments: String...) -> SpawnRequest {
    var request = SpawnRequest(executable: path)
    request.arguments = arguments
    return request
}

func shell(_ script: String) -> SpawnRequest {
    var request = SpawnRequest(executable: "/bin/sh")
    request.arguments = ["-c", script]
    request.environment = ["PATH": "/usr/bin:/bin"]
    return request
}

/// The numbers that `ls` lists; its own descriptor for the directory is the lowest that was free.
func descriptors(in output: String) -> [Int] {
    output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.sorted()
}

/// The hexadecimal number behind a key of /proc/self/status.
func mask(_ key: String, in status: String) -> UInt64? {
    for line in status.split(separator: "\n") where line.hasPrefix(key + ":") {
        return line.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) }
    }
    return nil
}

/// A directory of its own, removed with the files in it.
func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/bridge-platform-XXXXXX".utf8CString)
    guard let path = mkdtemp(&template).map({ String(cString: $0) }) else {
        throw SystemError.current("making a temporary directory")
    }
    defer {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                unlink("\(path)/\(name)")
            }
            closedir(directory)
        }
        rmdir(path)
    }
    try body(path)
}
