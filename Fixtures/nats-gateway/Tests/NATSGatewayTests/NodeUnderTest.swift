import LocalBroker
import Testing

@testable import NATSGateway

/// A gateway with a host that only records what it was given, what was settled, and what the gateway said.
final class NodeUnderTest: Sendable {
    enum Happening: Sendable, Equatable {
        case arrived(String)
        case settled(String, refusal: String?)
        case said(GatewayReport)
    }

    /// An answer time for tests that compare all sentences, in milliseconds: far more than a slow machine needs.
    static let longAnswerTime: Int64 = 60_000

    let gateway: Gateway
    private let log = Changing<[Happening]>([])

    init(
        _ name: String,
        _ broker: Broker,
        owner: String = "\(UInt64.random(in: 0...(.max)))",
        places: ImportPlaces? = nil,
        custody: @escaping @Sendable (ImportedEvent) -> Custody = { _ in .taken },
        configure: (inout GatewayConfiguration) throws -> Void
    ) throws {
        var configuration = GatewayConfiguration(node: try node(name))
        configuration.url = broker.url
        try configure(&configuration)
        gateway = try Gateway(
            configuration,
            owner: owner,
            places: places,
            publish: { [log] event in
                log.change { $0.append(.arrived(event.headers.id)) }
                return custody(event)
            },
            report: { [log] report in log.change { $0.append(.said(report)) } }
        )
    }

    deinit { gateway.stop() }

    /// Exports an event as the host would give it.
    func export(
        _ id: String,
        name: String = "Counted",
        payload: [UInt8] = [0x01],
        isRepeat: Bool = false,
        isReplay: Bool = false
    ) {
        let headers = EventHeaders(
            id: id,
            source: "test",
            name: name,
            path: [gateway.configuration.node],
            attempt: isRepeat ? 2 : 1
        )
        gateway.export(
            ExportedEvent(id: id, payload: payload, isRepeat: isRepeat, isReplay: isReplay) {
                headers
            } settle: { [log] refusal in
                log.change { $0.append(.settled(id, refusal: refusal)) }
            }
        )
    }

    /// Everything that has happened so far.
    var happenings: [Happening] { log.value }

    var arrivals: [String] {
        happenings.compactMap { if case .arrived(let id) = $0 { id } else { nil } }
    }

    var acknowledged: [String] {
        happenings.compactMap { if case .settled(let id, nil) = $0 { id } else { nil } }
    }

    var sentences: [String] {
        happenings.compactMap {
            switch $0 {
            case .said(.note(let text)), .said(.end(let text)), .said(.again(let text)): text
            default: nil
            }
        }
    }

    /// Whether the gateway has said that its process has to end.
    var isEnded: Bool {
        happenings.contains {
            switch $0 {
            case .said(.end), .said(.again): true
            case .said(.note), .arrived, .settled: false
            }
        }
    }

    /// Returns when the condition holds after a happening; the test's time limit is the deadline.
    func wait(until condition: @Sendable (NodeUnderTest) -> Bool) async {
        await log.wait { _ in condition(self) }
    }
}

/// A node of a test.
func node(_ name: String) throws -> Node { try #require(Node(name)) }
