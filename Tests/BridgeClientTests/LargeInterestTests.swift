import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

@testable import BridgeClient

@Suite("A client and the interest of its host", .timeLimit(.minutes(5)))
struct LargeInterestTests {
    /// Leads to a host whose part the test plays.
    private struct WayToTest: WayToHost {
        let stream: any ByteStream

        func connect(on poller: Poller) -> any ByteStream { stream }
    }

    @Test("a client attaches to a host that wants nearly as many names as there may be, however long they are")
    func wholeInterest() async throws {
        let poller = try Poller(name: "test")
        let (near, far) = MemoryStream.pair(poller: poller)
        let welcome = Welcome(
            version: 1,
            library: "test",
            hostIncarnation: 1,
            workerIncarnation: 2,
            windowBytes: 1 << 20,
            windowEvents: 4_096,
            frameBytes: 16 << 20,
            heartbeatMilliseconds: 0,
            name: "client-1"
        )
        let names = (1...UInt64(65_000)).map { number in
            let start = "\(number)."
            return Interest.Name(
                number: number,
                name: start + String(repeating: "n", count: EventName.maximumBytes - start.utf8.count)
            )
        }
        let interest = frame(.interest(Interest(wanted: names)))
        #expect(interest.count > 16 << 20)
        let host = Task {
            var left = (frame(.welcome(welcome)) + interest)[...]
            while !left.isEmpty {
                switch left.withUnsafeBytes({ far.write([$0]) }) {
                case .transferred(let count): left.removeFirst(count)
                case .wouldBlock: await Task.yield()
                default: return
                }
            }
        }
        let client = try await BridgeClient.connect(
            to: "test",
            publisher: EventPublisher(),
            name: "reader",
            wantsEverything: false,
            way: WayToTest(stream: near),
            tap: nil,
            gapTap: nil
        )
        #expect(client.isAttached)
        await host.value
        far.close()
        await client.close()
        poller.stop()
    }
}
