import BridgeClient
import BridgeControl
import BridgePlatform
import BridgeProtocol
import BridgeTransport
import BridgeWorker
import DomainEvents
import EventBridge
import Locks
import Supervision
import Testing

@testable import EventBridgeTesting

private struct ParcelSent: DomainEvent {
    let number: Int
}

private struct Unwanted: Error, CustomStringConvertible {
    let description = "return to sender"
}

@Suite("A worker that refuses an event and says nothing more", .timeLimit(.minutes(5)))
struct LostReceiptTests {
    @Test("a caller that waits for the event is told of the refusal, though its receipt never comes")
    func refusalSuffices() async throws {
        let publisher = EventPublisher()
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [WorkerSpecification("post", executable: .path("in memory"), subscribes: [ParcelSent.self])],
            launcher: SilentLauncher { publisher in
                [publisher.subscribe(to: ParcelSent.self) { _ in throw Unwanted() }]
            }
        )
        try await bridge.start()
        await #expect {
            try await publisher.deliver(ParcelSent(number: 1), within: .seconds(120))
        } throws: { error in
            (error as? DeliveryError)?.code == .refused && "\(error)".contains("return to sender")
        }
        await bridge.shutdown()
    }

    @Test("a replay ends with the acknowledgements, and the next one to this worker is not kept waiting")
    func acknowledgementSuffices() async throws {
        let home = try AttachHome()
        let bridge = try BridgeHost(
            publisher: home.publisher,
            workers: [WorkerSpecification("post", executable: .path("in memory"), subscribes: [ParcelSent.self])],
            launcher: SilentLauncher { publisher in [publisher.subscribe(to: ParcelSent.self) { _ in }] },
            control: ControlSocket(home.path)
        )
        try await bridge.start()
        let client = try await BridgeClient.connect(to: home.path, publisher: EventPublisher(), name: "test")
        // {"number": n}, with n below 24.
        let events = (1...3).map { (number: UInt8) in
            ReplayedEvent(
                event: "ParcelSent",
                id: "host-5f-\(number)",
                nanosecondsSinceEpoch: 1,
                payload: [0xA1, 0x66] + Array("number".utf8) + [number]
            )
        }
        for _ in 1...2 {
            let outcome = try await client.replay(events, to: "post")
            #expect(outcome.kind == .done && outcome.results.map(\.kind) == [.handled, .handled, .handled])
        }
        await client.close()
        await bridge.shutdown()
    }
}

/// Starts workers whose receipts are lost, as if each worker were killed before it wrote them.
private struct SilentLauncher: WorkerLauncher {
    let body: @Sendable (EventPublisher) async throws -> [Subscription]

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let (hostEnd, workerEnd) = MemoryStream.pair(poller: order.poller)
        let process = InMemoryProcess(
            session: WorkerSession(name: order.specification.name, cookie: order.cookie, poller: order.poller)
        )
        process.run(over: workerEnd, body)
        completion(.success(LaunchedWorker(stream: StreamWithoutReceipts(hostEnd), process: process)))
    }
}

/// A stream from which no receipt can be read.
private final class StreamWithoutReceipts: ByteStream, @unchecked Sendable {
    // Sendable: the rest is one reader's own.
    private let inner: any ByteStream
    private var arrived: [UInt8] = []
    private var passed: [UInt8] = []

    init(_ inner: any ByteStream) {
        self.inner = inner
    }

    var memory: MemoryFile? { inner.memory }
    var shelf: MemoryFile? { inner.shelf }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        if passed.isEmpty {
            let outcome = inner.read(into: buffer)
            guard case .transferred(let count) = outcome else { return outcome }
            arrived += buffer[..<count]
            takeFrames()
        }
        guard !passed.isEmpty else { return .wouldBlock }
        let count = min(passed.count, buffer.count)
        buffer.copyBytes(from: passed[..<count])
        passed.removeFirst(count)
        return .transferred(count)
    }

    private func takeFrames() {
        while arrived.count >= FrameDecoder.headBytes {
            let length = arrived[..<4].reduce(0) { $0 << 8 | Int($1) } + FrameDecoder.headBytes
            guard arrived.count >= length else { return }
            let kind = arrived[FrameDecoder.headBytes..<length].withUnsafeBytes { ControlMessage.kind(of: $0) }
            if kind != FrameKind.receipt.rawValue { passed += arrived[..<length] }
            arrived.removeFirst(length)
        }
    }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome { inner.write(pieces) }

    func whenWritable(_ body: @escaping @Sendable () -> Void) { inner.whenWritable(body) }

    func finishWriting() { inner.finishWriting() }

    func finishReading() { inner.finishReading() }

    func close() { inner.close() }
}
