import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    @Suite("A descriptor has one owner and is closed once")
    struct FileDescriptorTests {
        @Test
        func theEndOfTheOwnerClosesTheDescriptor() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let pipe = try FileDescriptor.pipe()
                    let numbers = [pipe.reading.rawValue, pipe.writing.rawValue]
                    #expect(numbers.allSatisfy(FileDescriptor.isOpen))
                    pipe.writing.close()
                    #expect(!FileDescriptor.isOpen(numbers[1]))
                }
            }
        }

        @Test
        func aReleasedDescriptorStaysOpen() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let pipe = try FileDescriptor.pipe()
                    let number = pipe.reading.release()
                    #expect(FileDescriptor.isOpen(number))
                    FileDescriptor(owning: number).close()
                    #expect(!FileDescriptor.isOpen(number))
                }
            }
        }

        @Test
        func aSharedDescriptorIsClosedWhenTheLastUserLetsGo() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let pipe = try FileDescriptor.pipe()
                    var first: SharedDescriptor? = SharedDescriptor(pipe.reading)
                    let number = try #require(first).rawValue
                    var second = first
                    first = nil
                    #expect(second?.withRawValue(FileDescriptor.isOpen) == true)
                    second = nil
                    #expect(!FileDescriptor.isOpen(number))
                    withExtendedLifetime((first, second)) {}
                }
            }
        }

        @Test
        func everythingMadeHereIsCloseOnExec() throws {
            let pipe = try FileDescriptor.pipe()
            let sockets = try UnixSocket.pair()
            let copy = try FileDescriptor.duplicate(pipe.reading.rawValue, atLeast: 40)
            #expect(copy.rawValue >= 40)
            let numbers = [
                pipe.reading.rawValue, pipe.writing.rawValue, sockets.first.rawValue, sockets.second.rawValue,
                copy.rawValue,
            ]
            for number in numbers { #expect(fcntl(number, F_GETFD) == FD_CLOEXEC) }
            #expect(numbers.map(FileDescriptor.isSocket) == [false, false, true, true, false])
        }

        @Test
        func anErrorTellsWhatWasDoneAndWhatWasWrong() {
            let error = SystemError(code: ENOENT, operation: "spawn of /x")
            #expect(error.description == "spawn of /x failed: No such file or directory (ENOENT)")
            #expect(throws: SystemError(code: EBADF, operation: "duplicating descriptor -1")) {
                _ = try FileDescriptor.duplicate(-1)
            }
            #expect(SystemError(code: 12_345, operation: "it").description.contains("12345"))
        }
    }

    @Suite("A process knows itself")
    struct CurrentProcessTests {
        @Test
        func theListOfDescriptorsHasEachOpenNumberOnce() throws {
            let pipe = try FileDescriptor.pipe()
            let added = [pipe.reading.rawValue, pipe.writing.rawValue]
            let open = try CurrentProcess.openDescriptors()
            #expect(Set(open).isSuperset(of: added))
            #expect(open == Array(Set(open)).sorted())
            pipe.writing.close()
            #expect(try CurrentProcess.openDescriptorCount() > 0)
        }

        @Test("A wait with a limit ends in time, although signals interrupt it again and again")
        func waitWithInterruptions() async {
            await #expect(processExitsWith: .success) {
                let pipe = try FileDescriptor.pipe()
                let number = pipe.reading.rawValue
                let interruptions = try Interruptions(random: .announced())
                let answers = Mailbox<Bool>()
                let deadline = MonotonicClock.now() + watchdogNanoseconds
                var waits = 0
                // The thread that interrupts may get no processor during a whole wait.
                repeat {
                    try PlatformThread.start(name: "waiter") {
                        answers.put(interruptions.exposing { waitUntilReady(number, for: POLLIN, milliseconds: 100) })
                    }
                    waits += 1
                    try #require(try answers.wait(for: waits).last == false)
                } while Interruptions.count == 0 && MonotonicClock.now() < deadline
                #expect(Interruptions.count > 0)
                interruptions.end()
            }
        }

        @Test
        func environmentVariablesAreReadAndRemoved() async {
            await #expect(processExitsWith: .success) {
                setenv("BRIDGE_PLATFORM_TEST", "a=b", 1)
                #expect(CurrentProcess.environment("BRIDGE_PLATFORM_TEST") == "a=b")
                CurrentProcess.unsetEnvironment("BRIDGE_PLATFORM_TEST")
                #expect(CurrentProcess.environment("BRIDGE_PLATFORM_TEST") == nil)
            }
        }

        @Test
        func memoryThatIsTouchedIsResident() async {
            // The memory is that of the whole process, where other tests would free some meanwhile.
            await #expect(processExitsWith: .success) {
                let size = 32 << 20
                #expect(OperatingSystem.residentBytes(of: .max) == nil)
                let before = try #require(CurrentProcess.residentBytes())
                let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4_096)
                defer { memory.deallocate() }
                memory.initializeMemory(as: UInt8.self, repeating: 7, count: size)
                // The kernel adds up the pages in batches, so its sum lags behind.
                #expect(try #require(CurrentProcess.residentBytes()) > before + size / 2)
            }
        }

        @Test
        func theProgramsDirectoryExists() throws {
            let directory = try CurrentProcess.executableDirectory()
            #expect(directory.hasPrefix("/") && access(directory, X_OK) == 0)
        }

        @Test
        func aPipeIsNoTerminal() throws {
            let pipe = try FileDescriptor.pipe()
            #expect(!Terminal.isTerminal(pipe.reading.rawValue))
            #expect(Terminal.width(of: pipe.reading.rawValue) == nil)
            #expect(Terminal.height(of: pipe.reading.rawValue) == nil)
        }

        @Test
        func theMonotonicClockNeverGoesBack() {
            let first = MonotonicClock.now()
            #expect(MonotonicClock.now() >= first)
            // 2020, in nanoseconds: the wall clock counts from 1970.
            #expect(WallClock.now() > 1_577_836_800_000_000_000)
        }

        @Test
        func aParentThatIsNotTheExpectedOneIsNoticed() throws {
            // Signal 0 disarms: the process that runs the tests stays as it was.
            let parent = CurrentProcess.parentIdentifier
            let unsupported = try ParentDeathSignal.arm(0, expectedParent: parent) == .unsupported
            #expect(try ParentDeathSignal.arm(0, expectedParent: parent) == (unsupported ? .unsupported : .armed))
            #expect(
                try ParentDeathSignal.arm(0, expectedParent: -1) == (unsupported ? .unsupported : .parentIsGone)
            )
        }

        @Test
        func aThreadHasItsNameAndOnlyTheSignalsOfItsOwnFaults() throws {
            let found = Mailbox<(blocked: [Bool], open: [Bool])>()
            let thread = try PlatformThread.startJoinable(name: "a name that is far too long", stackSize: 1) {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                found.put(
                    (
                        [SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1].map { sigismember(&mask, $0) == 1 },
                        [SIGSEGV, SIGILL, SIGTRAP, SIGABRT].map { sigismember(&mask, $0) == 0 }
                    )
                )
            }
            thread.join()
            let masks = try #require(found.contents.first)
            #expect(masks.blocked.allSatisfy { $0 } && masks.open.allSatisfy { $0 })
        }
    }
}
