import BridgePlatform
import Testing

extension PlatformTests {
    struct HeapTests {
        /// Does what the threads of a host do that gets large frames.
        private static func useAndFree(_ byteCount: Int) {
            let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 1)
            block.initializeMemory(as: UInt8.self, repeating: 1, count: byteCount)
            block.deallocate()
        }

        @Test("what threads have freed goes back to the system, however large it was")
        func freedMemoryGoesBack() async {
            await #expect(processExitsWith: .success) {
                CurrentProcess.keepLittleFreeMemory()
                let before = try #require(CurrentProcess.residentBytes())
                // Under a sanitizer, memory does not come from malloc.
                guard CurrentProcess.heapBytesInUse() != nil else { return }
                // The C library finds memory worth keeping up to the size of the largest block that was freed.
                Self.useAndFree(24 << 20)
                let threads = try (0..<6).map { number in
                    try PlatformThread.startJoinable(name: "busy \(number)") {
                        Self.useAndFree(16 << 20)
                        // No thread ends before each has an arena of its own.
                        CurrentProcess.pause(milliseconds: 100)
                    }
                }
                for thread in threads { thread.join() }
                let after = try #require(CurrentProcess.residentBytes())
                #expect(after - before < 16 << 20, "\(before >> 20) MiB before, \(after >> 20) MiB after")
            }
        }
    }
}
