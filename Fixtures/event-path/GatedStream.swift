import BridgePlatform
import BridgeTransport

/// One end of a stream, whose writes a gate holds back.
final class GatedStream: ByteStream {
    private let stream: any ByteStream
    private let gate: Gate

    init(_ stream: any ByteStream, _ gate: Gate) {
        self.stream = stream
        self.gate = gate
    }

    var memory: MemoryFile? { stream.memory }
    var shelf: MemoryFile? { stream.shelf }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome { stream.read(into: buffer) }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        gate.isOpen ? stream.write(pieces) : .wouldBlock
    }

    func whenWritable(_ body: @escaping @Sendable () -> Void) {
        if gate.isOpen { stream.whenWritable(body) } else { gate.whenOpen(body) }
    }

    func finishWriting() { stream.finishWriting() }

    func finishReading() { stream.finishReading() }

    func close() { stream.close() }
}
