import BridgePlatform
import FoundationEssentials
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    #if os(Linux)
    @Suite("What a process in a box can do to one outside, cell by cell of the table in docs/reference/security.md")
    struct BoxTableTests {
        /// The columns of the table.
        enum Column: Int, CaseIterable, CustomTestStringConvertible {
            case none
            case network
            case files
            case both

            var testDescription: String { "\(self)" }

            var box: SpawnBox {
                var box = SpawnBox()
                if self == .network || self == .both { (box.refusesNetwork, box.refusesConnections) = (true, true) }
                if self == .files || self == .both { box.files = SpawnBox.Files(readOnly: [], writable: []) }
                return box
            }
        }

        /// The attempts and their results in each column; "?" depends on other parts of the system.
        private static let table: [(attempt: String, answers: [String])] = acts + refusedCalls

        /// The calls that the filter refuses whatever their arguments are, by the error.
        private static let refusedCalls: [(attempt: String, answers: [String])] = [
            "ENOSYS": [
                "add_key", "request_key", "keyctl", "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl",
                "semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive",
                "mq_notify", "mq_getsetattr", "clone3",
            ],
            "EPERM": ["setns"],
        ].flatMap { error, calls in calls.map { ("the call \($0)", ["?", error, error, error]) } }

        private static let acts: [(attempt: String, answers: [String])] = [
            // Landlock forbids these: a look into a process outside, and a signal to it.
            ("signal", ["done", "EPERM", "EPERM", "EPERM"]),
            ("signal by descriptor", ["done", "EPERM", "EPERM", "EPERM"]),
            ("trace", ["?", "EPERM", "EPERM", "EPERM"]),
            ("read memory", ["?", "EPERM", "EPERM", "EPERM"]),
            ("take a descriptor", ["?", "EPERM", "EPERM", "EPERM"]),
            ("compare", ["?", "EPERM", "EPERM", "EPERM"]),
            ("move pages", ["?", "EPERM", "EPERM", "EPERM"]),
            ("migrate pages", ["?", "EPERM", "EPERM", "EPERM"]),
            ("environment", ["?", "EACCES", "EACCES", "EACCES"]),
            ("memory by file", ["?", "EACCES", "EACCES", "EACCES"]),
            // The filter forbids these: calls that name another process by its number.
            ("set a limit", ["done", "EPERM", "EPERM", "EPERM"]),
            ("nice", ["done", "EPERM", "EPERM", "EPERM"]),
            ("nice of a user", ["ESRCH", "EPERM", "EPERM", "EPERM"]),
            ("nice of a group", ["done", "EPERM", "EPERM", "EPERM"]),
            ("scheduler", ["done", "EPERM", "EPERM", "EPERM"]),
            ("scheduling parameter", ["done", "EPERM", "EPERM", "EPERM"]),
            ("scheduling attributes", ["done", "EPERM", "EPERM", "EPERM"]),
            ("affinity", ["done", "EPERM", "EPERM", "EPERM"]),
            ("priority of input and output", ["done", "EPERM", "EPERM", "EPERM"]),
            // The filter also forbids objects that all processes of a user share by number.
            ("add a key", ["?", "ENOSYS", "ENOSYS", "ENOSYS"]),
            ("read the user's keys", ["?", "ENOSYS", "ENOSYS", "ENOSYS"]),
            ("shared memory of System V", ["?", "ENOSYS", "ENOSYS", "ENOSYS"]),
            ("message of System V", ["?", "ENOSYS", "ENOSYS", "ENOSYS"]),
            ("semaphore of System V", ["?", "ENOSYS", "ENOSYS", "ENOSYS"]),
            ("queue of POSIX", ["?", "ENOSYS", "ENOSYS", "ENOSYS"]),
            ("user namespace", ["?", "EPERM", "EPERM", "EPERM"]),
            ("type into a terminal", ["ENOTTY", "EPERM", "EPERM", "EPERM"]),
            ("paste into a terminal", ["ENOTTY", "EPERM", "EPERM", "EPERM"]),
            // Files are ruled, or they are not.
            ("read a file", ["done", "done", "EACCES", "EACCES"]),
            ("shared memory of POSIX", ["done", "done", "EACCES", "EACCES"]),
            ("likelihood to be killed", ["done", "done", "EACCES", "EACCES"]),
            // Sockets.
            ("abstract socket", ["done", "EACCES", "EPERM", "EACCES"]),
            ("socket in the file system", ["done", "EACCES", "done", "EACCES"]),
            ("another machine", ["?", "EAFNOSUPPORT", "?", "EAFNOSUPPORT"]),
            ("rings", ["?", "ENOSYS", "?", "ENOSYS"]),
            // No box refuses these.
            ("datagram to a socket in the file system", ["done", "done", "done", "done"]),
            ("watch a directory", ["done", "done", "done", "done"]),
            ("status", ["done", "done", "done", "done"]),
            ("read a limit", ["done", "done", "done", "done"]),
            // A process may do these to itself, and has to.
            ("own limit", ["done", "done", "done", "done"]),
            ("own nice", ["done", "done", "done", "done"]),
            ("own scheduler", ["done", "done", "done", "done"]),
            ("own affinity", ["done", "done", "done", "done"]),
            ("own input and output", ["done", "done", "done", "done"]),
            ("own memory", ["done", "done", "done", "done"]),
            ("own child", ["done", "done", "done", "done"]),
        ]

        private static let python = "/usr/bin/python3"

        private static func probe() throws -> String {
            let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            let file = tests.deletingLastPathComponent().appending(path: "Fixtures/box-probe/probe.py")
            return try String(contentsOf: file, encoding: .utf8)
        }

        private static func request(_ arguments: [String]) throws -> SpawnRequest {
            var request = SpawnRequest(executable: python)
            request.arguments = ["-c", try probe()] + arguments
            request.environment = ["PATH": "/usr/bin:/bin", "SECRET": "of the one outside"]
            return request
        }

        @Test("each answer is that of the table", .timeLimit(.minutes(5)), arguments: Column.allCases)
        func cells(column: Column) throws {
            guard CurrentProcess.isExecutableFile(Self.python) else {
                CurrentProcess.report("not tested: what a box refuses, without \(Self.python)")
                return
            }
            try withTemporaryDirectory { directory in
                var victim = try Self.request(["victim", directory])
                let input = try FileDescriptor.pipe()
                let output = try FileDescriptor.pipe()
                victim.standardInput = .descriptor(input.reading.rawValue)
                victim.standardOutput = .descriptor(output.writing.rawValue)
                let outside = try ChildProcess.spawn(victim)
                input.reading.close()
                output.writing.close()
                let found = readLine(output.reading.rawValue)
                let outcome = Result { try check(column, found) }
                // Which it waits for.
                input.writing.close()
                _ = outside.waitForExit()
                try outcome.get()
            }
        }

        private func check(_ column: Column, _ found: String) throws {
            try #require(found.hasPrefix("{"))
            var request = try Self.request(["try", found])
            request.box = column.box
            request.diesWithParent = true
            var answers: [String: String] = [:]
            do {
                let result = try run(request)
                for line in result.output.split(separator: "\n") {
                    let parts = line.split(separator: ":", maxSplits: 1)
                    answers[String(parts[0])] = parts.last.map { $0.drop { $0 == " " } }.map(String.init)
                }
                #expect(result.exit.status == .exited(code: 0))
            } catch SpawnError.boxUnavailable(let why) {
                CurrentProcess.report("not tested: what a box refuses, as \(why)")
                return
            }
            for (attempt, expected) in Self.table where expected[column.rawValue] != "?" {
                #expect(answers[attempt] == expected[column.rawValue], "\(attempt)")
            }
            #expect(Set(answers.keys) == Set(Self.table.map(\.attempt)))
        }

        /// Up to the end of the first line.
        private func readLine(_ descriptor: CInt) -> String {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
    #endif
}
