import BridgeProtocol
import DomainEvents
import Testing

@Suite("What frames mean between the two processes of a link")
struct LinkPartiesTests {
    private static let host = EventSource(origin: "host", incarnation: 1)
    private static let worker = EventSource(origin: "canvas", incarnation: 7)
    private static let other = EventSource(origin: "boxes", incarnation: 9)

    /// The host's side and the worker's.
    private static func sides() -> (host: LinkParties, worker: LinkParties) {
        var (ofHost, ofWorker) = (LinkParties(own: host), LinkParties(own: worker))
        ofHost.established(own: nil, peer: worker, ownIncarnation: 1)
        ofWorker.established(own: nil, peer: host, ownIncarnation: 7)
        return (ofHost, ofWorker)
    }

    private static var identities: [EventID] {
        [host, worker, other].map { EventID(source: $0, number: 5) }
    }

    @Test("before the handshake nothing of the peer's has a meaning, and what this side writes spells the peer out")
    func beforeTheHandshake() {
        let parties = LinkParties(own: Self.host)
        #expect(parties.peer == nil && parties.peerIncarnation == 0 && parties.ownIncarnation == 0)
        #expect(parties.received(.sender(number: 5)) == nil)
        #expect(
            parties.received(EventHead(sequence: 1, id: .sender(number: 5), nanosecondsSinceEpoch: 1, name: .number(1)))
                == nil
        )
        #expect(
            parties.received(GapFrame(sequence: 1, name: .number(1), count: 1, reason: 0, ranges: []), name: "Saved")
                == nil
        )
        #expect(
            parties.written(EventID(source: Self.worker, number: 5))
                == .other(origin: "canvas", incarnation: 7, number: 5)
        )
    }

    @Test("an identity that either side writes is read as the same on the other")
    func identities() {
        let (host, worker) = Self.sides()
        for id in Self.identities {
            #expect(worker.received(host.written(id)) == id)
            #expect(host.received(worker.written(id)) == id)
        }
        #expect(host.written(EventID(source: Self.host, number: 5)) == .sender(number: 5))
        #expect(host.written(EventID(source: Self.worker, number: 5)) == .receiver(number: 5))
    }

    @Test("a head means the same to the side that has written it and to the other, with and without causes")
    func heads() {
        let (host, worker) = Self.sides()
        for id in Self.identities {
            for cause in [nil] + Self.identities {
                var head = EventHead(sequence: 1, id: host.written(id), nanosecondsSinceEpoch: 3, name: .number(1))
                head.cause = cause.map(host.written)
                let contexts = [worker.received(head), host.written(head)]
                for context in contexts {
                    #expect(context?.id == id && context?.cause == cause && context?.nanosecondsSinceEpoch == 3)
                    #expect(context?.attempt == 1 && context?.settledBelow == nil)
                }
            }
        }
        var again = EventHead(sequence: 1, id: .sender(number: 5), nanosecondsSinceEpoch: 3, name: .number(1))
        again.attempt = .max
        again.settledBelow = 4
        let context = worker.received(again)
        #expect(context?.attempt == Int(UInt32.max) && context?.settledBelow == 4)
    }

    @Test("a gap means the same to the side that has written it and to the other")
    func gaps() {
        let (host, worker) = Self.sides()
        let ranges = Self.identities.map { GapFrame.Range(first: host.written($0), last: 8) }
        let frame = GapFrame(sequence: 1, name: .number(1), count: 12, reason: 0, ranges: ranges)
        let gap = host.written(frame, name: "Saved")
        #expect(worker.received(frame, name: "Saved") == gap)
        #expect(gap.name == "Saved" && gap.count == 12 && gap.ranges.map(\.first) == Self.identities)
    }

    @Test("a gap that names a source several times names it once here, with its first and its last event")
    func repeatedSources() throws {
        let (host, worker) = Self.sides()
        let numbers: [(first: UInt64, last: UInt64)] = [(9, 9), (4, 5), (6, 64), (7, 7)]
        let ranges = numbers.flatMap { number in
            [Self.host, Self.other].map { source in
                GapFrame.Range(first: host.written(EventID(source: source, number: number.first)), last: number.last)
            }
        }
        let frame = GapFrame(sequence: 1, name: .number(1), count: 12, reason: 1, ranges: ranges)
        let gap = try #require(worker.received(frame, name: "Saved"))
        #expect(gap.count == 12)
        #expect(gap.ranges.map(\.first) == [Self.host, Self.other].map { EventID(source: $0, number: 4) })
        #expect(gap.ranges.map(\.last) == [64, 64])
    }

    @Test("gaps with reasons that the protocol does not have are like each other")
    func unknownReasons() throws {
        let (_, worker) = Self.sides()
        let received = (UInt64(0)..<10).map { number in
            let range = GapFrame.Range(first: .sender(number: number + 1), last: number + 1)
            return GapFrame(sequence: number + 1, name: .number(1), count: 1, reason: number * 7, ranges: [range])
        }
        var queue = OverflowQueue()
        for frame in received { queue.append(try #require(worker.received(frame, name: "Saved"))) }
        #expect(queue.count == 1)
    }

    @Test("the handshake says who offers this side's events, where it does, and under which incarnations")
    func handshake() {
        var parties = LinkParties(own: Self.other)
        parties.established(own: Self.worker, peer: Self.host, ownIncarnation: 7)
        #expect(parties.own == Self.worker && parties.peer == Self.host)
        #expect(parties.ownIncarnation == 7 && parties.peerIncarnation == 1)
    }
}
