import Supervision
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The descriptions of the value types, and the mistakes that they find.
@Suite struct SpecificationTests {
    @Test func defaultsAreValid() {
        #expect(ChildSpecification.validate([child("a"), child("b")]).isEmpty)
        #expect(RestartIntensity().validate().isEmpty)
    }

    @Test func everyMistakeIsFoundAtOnce() {
        let specification = ChildSpecification(
            "a",
            executable: .beside("../worker"),
            arguments: ["fine", "b\0ad"],
            environment: ["": "x", "A=B": "y", "C": "\0"],
            workingDirectory: "",
            backoff: .exponential(from: .seconds(30), to: .seconds(1), jitter: 1.5, resetsAfter: .seconds(-1)),
            handshakeTimeout: .zero,
            heartbeat: Heartbeat(every: .zero, tolerance: 0),
            shutdown: ShutdownSequence(steps: [.drain(grace: .seconds(-5)), .signal(.terminate, grace: .days(400))])
        )
        #expect(
            specification.validate()
                == [
                    "the executable \"../worker\" is looked for beside the running one, but has a directory",
                    "the working directory is empty",
                    "argument 2 contains a NUL character",
                    "the value of \"C\" contains a NUL character",
                    "an environment variable has an empty name",
                    "the environment variable \"A=B\" has a \"=\" in its name",
                    "the handshake timeout is 0 s; it must be more than 0 s",
                    "the time after which the back-off is reset is -1 s; it must be 0 s or more",
                    "the back-off starts at 30 s, above its longest wait of 1 s",
                    "the jitter of the back-off is 1.5; it must lie between 0 and 1",
                    "the heartbeat's interval is 0 s; it must be more than 0 s",
                    "the heartbeat's tolerance is 0; it must be 1 or more",
                    "the grace to drain in is -5 s; it must be 0 s or more",
                    "the grace after SIGTERM is 34560000 s; it must be at most 31622400 s",
                ].map { "child \"a\": \($0)" }
        )
    }

    @Test func namesAreThereAndUnique() {
        let mistakes = ChildSpecification.validate([child("a"), child(""), child("b"), child("a"), child("a")])
        #expect(
            mistakes == [
                "child \"\": the name is empty",
                "the name \"a\" is given to more than one child",
            ]
        )
    }

    @Test func jitterThatIsNotANumberIsAMistake() {
        #expect(Backoff.exponential(jitter: .nan).validate().count == 1)
    }

    @Test func intensityHasItsLimits() {
        #expect(
            RestartIntensity(restarts: -1, within: .zero).validate() == [
                "the restart intensity allows -1 restarts; it must be 0 or more",
                "the window of the restart intensity is 0 s; it must be more than 0 s",
            ]
        )
    }

    @Test(
        arguments: [
            (ExitReason.exited(status: 3), "exited with status 3"),
            (.signaled(number: 9, coreDumped: false), "killed by SIGKILL (9)"),
            (.signaled(number: 11, coreDumped: true), "killed by SIGSEGV (11), core dumped"),
            (.signaled(number: 40, coreDumped: false), "killed by signal 40"),
            (.spawnFailed("/bin/x is missing", errno: 2), "could not be started: /bin/x is missing (errno 2)"),
            (.spawnFailed("no launcher", errno: nil), "could not be started: no launcher"),
            (.handshakeTimedOut(after: .seconds(10)), "was not ready 10 s after its start"),
            (.unresponsive(after: .milliseconds(3_500)), "gave no sign of life for 3.5 s"),
            (.handlerTimedOut(event: "BoxOrdered", after: .seconds(30)), "had not finished BoxOrdered after 30 s"),
            (.requested, "stopped on request"),
        ]
    )
    func reasonReadsAsASentence(reason: ExitReason, text: String) {
        #expect(reason.description == text)
    }

    @Test(
        "A start that failed is not tried again if the error says that the program is at fault",
        arguments: [
            (ENOENT, true), (EACCES, true), (ENOEXEC, true), (ENOTDIR, true), (ENAMETOOLONG, true), (E2BIG, true),
            (EAGAIN, false), (ENOMEM, false), (EMFILE, false), (ENFILE, false), (ETXTBSY, false), (EIO, false),
        ]
    )
    func spawnErrorIsPermanent(errno: CInt, isPermanent: Bool) {
        #expect(ExitReason.spawnFailed("spawn of /bin/x", errno: errno).isPermanent == isPermanent)
    }

    @Test(
        arguments: [
            (Duration.zero, "0 s"), (.seconds(10), "10 s"), (.milliseconds(1_500), "1.5 s"),
            (.milliseconds(100), "100 ms"), (.microseconds(1_250), "1.25 ms"), (.microseconds(20), "20 us"),
            (.nanoseconds(5), "5 ns"), (.milliseconds(1_005), "1.005 s"), (.seconds(-2), "-2 s"),
            (.milliseconds(-1_500), "-1.5 s"), (.milliseconds(-20), "-20 ms"),
        ]
    )
    func durationIsWrittenInItsLargestUnit(duration: Duration, text: String) {
        #expect(duration.text == text)
    }
}

extension Duration {
    fileprivate static func days(_ count: Int) -> Duration { .seconds(count * 24 * 3600) }
}
