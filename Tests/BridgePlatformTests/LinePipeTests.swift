import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private func lines(of bytes: [UInt8], maximumLength: Int, chunks: [Int]) -> [LinePipe.Line] {
    var assembler = LineAssembler(maximumLength: maximumLength)
    var lines: [LinePipe.Line] = []
    var rest = bytes[...]
    for chunk in chunks {
        rest.prefix(chunk).withUnsafeBytes { assembler.add($0) { lines.append($0) } }
        rest = rest.dropFirst(chunk)
    }
    rest.withUnsafeBytes { assembler.add($0) { lines.append($0) } }
    assembler.flush { lines.append($0) }
    return lines
}

private func line(_ text: String, isContinued: Bool = false) -> LinePipe.Line {
    LinePipe.Line(bytes: Array(text.utf8), isContinued: isContinued)
}

@Suite("Lines come out whole, however the bytes arrive")
struct LineAssemblerTests {
    @Test(
        arguments: [
            ("", []),
            ("a", [line("a")]),
            ("a\n", [line("a")]),
            ("a\nb\n", [line("a"), line("b")]),
            ("\n\n", [line(""), line("")]),
            ("a\r\nb\rc\n", [line("a"), line("b\rc")]),
            ("12345678\n", [line("12345678")]),
            ("12345678\r\n", [line("12345678")]),
            ("12345678\r\r\n", [line("12345678", isContinued: true), line("\r")]),
            ("a\r", [line("a\r")]),
            ("123456789\n", [line("12345678", isContinued: true), line("9")]),
            ("1234567ü9\n", [line("1234567", isContinued: true), line("ü9")]),
            ("123456ü9\n", [line("123456ü", isContinued: true), line("9")]),
            ("12345😀9\n", [line("12345", isContinued: true), line("😀9")]),
            ("1234😀9", [line("1234😀", isContinued: true), line("9")]),
        ] as [(String, [LinePipe.Line])]
    )
    func linesAreCutAtNewlinesAndAtTheLimit(text: String, expected: [LinePipe.Line]) {
        let bytes = Array(text.utf8)
        #expect(lines(of: bytes, maximumLength: 8, chunks: []) == expected)
        #expect(lines(of: bytes, maximumLength: 8, chunks: bytes.map { _ in 1 }) == expected)
    }

    @Test
    func bytesThatAreNoTextAreCutAtTheLimitAndNoneIsLost() {
        let bytes = [UInt8](repeating: 0x80, count: 100)
        let found = lines(of: bytes, maximumLength: 8, chunks: [])
        #expect(found.map(\.bytes.count) == [Int](repeating: 8, count: 12) + [4])
        #expect(found[0].text == String(repeating: "\u{FFFD}", count: 8))
    }

    @Test
    func theChunksMakeNoDifference() {
        var generator = SeededGenerator.announced()
        let alphabet = Array("ab\n\r\u{FC}".utf8) + [0, 0xF0, 0x80]
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            let chunks = (0..<10).map { _ in Int.random(in: 0..<9, using: &generator) }
            let split = lines(of: bytes, maximumLength: 8, chunks: chunks)
            #expect(split == lines(of: bytes, maximumLength: 8, chunks: []), "seed \(generator.seed): \(bytes)")
        }
    }
}

extension PlatformTests {
    @Suite("A line pipe takes whatever comes")
    struct LinePipeTests {
        private static func capture(
            _ script: String,
            _ body: (Mailbox<LinePipe.Line>, Mailbox<Bool>, ChildProcess, Poller) throws -> Void
        ) throws {
            try leavingNothingBehind {
                try withPoller { poller in
                    let pipe = try FileDescriptor.pipe()
                    var request = shell(script)
                    request.standardOutput = .descriptor(pipe.writing.rawValue)
                    let child = try ChildProcess.spawn(request)
                    pipe.writing.close()
                    let (lines, ends) = (Mailbox<LinePipe.Line>(), Mailbox<Bool>())
                    _ = try LinePipe.capture(pipe.reading, on: poller) {
                        lines.put($0)
                    } onEnd: {
                        ends.put(poller.isCurrent)
                    }
                    try body(lines, ends, child, poller)
                    try child.signal(SIGKILL)
                    _ = child.waitForExit()
                    try ends.wait()
                }
            }
        }

        @Test
        func linesArriveAndThenTheEndOnce() async {
            await #expect(processExitsWith: .success) {
                try LinePipeTests.capture("echo one; printf 'two\\nthree'") { lines, ends, _, _ in
                    try ends.wait()
                    #expect(ends.contents == [true])
                    #expect(lines.contents == [line("one"), line("two"), line("three")])
                }
            }
        }

        @Test
        func aLongLineComesInMarkedPieces() async {
            await #expect(processExitsWith: .success) {
                try LinePipeTests.capture("head -c 40000 /dev/zero | tr '\\0' x; echo; echo end") { lines, ends, _, _ in
                    try ends.wait()
                    #expect(lines.contents.map(\.bytes.count) == [16_384, 16_384, 7232, 3])
                    #expect(lines.contents.map(\.isContinued) == [true, true, false, false])
                }
            }
        }

        @Test
        func aLargeOutputArrivesWhole() async {
            await #expect(processExitsWith: .success) {
                try LinePipeTests.capture("yes 0123456 | head -n 100000") { lines, ends, _, _ in
                    try ends.wait()
                    #expect(lines.contents.count == 100_000)
                    #expect(lines.contents.allSatisfy { $0 == line("0123456") })
                }
            }
        }

        @Test
        func anEndlessFloodDoesNotKeepThePollerFromItsTimers() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pipe = try FileDescriptor.pipe()
                        var request = SpawnRequest(executable: "/usr/bin/yes")
                        request.standardOutput = .descriptor(pipe.writing.rawValue)
                        let child = try ChildProcess.spawn(request)
                        pipe.writing.close()
                        let (flooding, timers, ends) = (Mailbox<Bool>(), Mailbox<Int>(), Mailbox<Bool>())
                        _ = try LinePipe.capture(pipe.reading, on: poller) { _ in
                            if flooding.contents.isEmpty { flooding.put(true) }
                        } onEnd: {
                            ends.put(true)
                        }
                        try flooding.wait()
                        for number in 0..<5 { poller.schedule(after: 1_000_000) { timers.put(number) } }
                        #expect(try timers.wait(for: 5) == [0, 1, 2, 3, 4])
                        try child.signal(SIGKILL)
                        _ = child.waitForExit()
                        try ends.wait()
                    }
                }
            }
        }

        @Test
        func finishingHandsOverWhatIsThereAndEndsOnce() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pipe = try FileDescriptor.pipe()
                        let (lines, ends) = (Mailbox<LinePipe.Line>(), Mailbox<Bool>())
                        writeAll(pipe.writing.rawValue, Array("whole\nunfinished".utf8))
                        let capture = try LinePipe.capture(pipe.reading, on: poller) {
                            lines.put($0)
                        } onEnd: {
                            ends.put(true)
                        }
                        capture.finish()
                        try ends.wait()
                        capture.finish()
                        pipe.writing.close()
                        let turned = Mailbox<Bool>()
                        poller.perform { poller.perform { turned.put(true) } }
                        try turned.wait()
                        #expect(lines.contents == [line("whole"), line("unfinished")])
                        #expect(ends.contents.count == 1)
                    }
                }
            }
        }

        #if os(Linux)
        @Test("Finishing hands over all that lies in a pipe that its writer has enlarged")
        func finishingAnEnlargedPipe() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pipe = try FileDescriptor.pipe()
                        // F_SETPIPE_SZ, which Swift does not know.
                        guard fcntl(pipe.writing.rawValue, 1031, CInt(1 << 20)) >= 1 << 20 else {
                            return CurrentProcess.report("not tested: a large pipe, as this user may have none")
                        }
                        let (lines, ends) = (Mailbox<LinePipe.Line>(), Mailbox<Bool>())
                        let (held, release) = (Mailbox<Bool>(), Mailbox<Bool>())
                        let capture = try LinePipe.capture(pipe.reading, on: poller) {
                            lines.put($0)
                        } onEnd: {
                            ends.put(true)
                        }
                        // The poller has to read all of it after the writer's end.
                        poller.perform {
                            held.put(true)
                            _ = try? release.wait()
                        }
                        try held.wait()
                        let text = String(repeating: "x", count: 1_023) + "\n"
                        writeAll(pipe.writing.rawValue, Array(String(repeating: text, count: 600).utf8))
                        capture.finish()
                        pipe.writing.close()
                        release.put(true)
                        try ends.wait()
                        #expect(lines.contents.count == 600)
                    }
                }
            }
        }
        #endif
    }
}
