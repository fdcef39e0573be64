import BridgeControl
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

/// An event with a layout.
private struct ShelfMeasured: LaidOutEvent, Equatable {
    let width: Int
    let label: String?

    static let layout = EventLayout(Self.init(width:label:), .field("width", \.width), .field("label", \.label))

    init(width: Int, label: String?) throws {
        struct IsNegative: Error, CustomStringConvertible { let description = "a shelf is not that narrow" }
        if width < 0 { throw IsNegative() }
        self.width = width
        self.label = label
    }

    /// Makes an event that every reader refuses.
    private init(unchecked width: Int) {
        self.width = width
        label = nil
    }

    static let impossible = ShelfMeasured(unchecked: -1)
}

/// The worker's answer, an event without a layout.
private struct ShelfReported: DomainEvent, Equatable {
    let width: Int
    let label: String?
}

private struct ShelfPaired<Value: Codable & Sendable>: DomainEvent {
    static var eventName: String { "ShelfPaired" }
    let value: Value
}

extension ShelfPaired: LaidOutEvent where Value == Int {
    static var layout: EventLayout<Self> { EventLayout(Self.init(value:), .field("other", \.value)) }
}

@Suite("Events with a layout cross between processes", .timeLimit(.minutes(1)))
struct LaidOutEventTests {
    private let publisher = EventPublisher()

    private static var reporter: InMemoryWorker {
        InMemoryWorker("reporter", subscribes: [ShelfMeasured.self]) { publisher in
            [
                publisher.subscribe(to: ShelfMeasured.self) { shelf in
                    publisher.publish(ShelfReported(width: shelf.width, label: shelf.label))
                }
            ]
        }
    }

    @Test("A type knows without a search whether it is a report")
    func traits() {
        let types: [any DomainEvent.Type] = [
            ShelfMeasured.self, ShelfReported.self, UntypedEvent.self, HandlerFailed.self, EventsDropped.self,
            EventsTraced.self, WorkerReady.self, WorkerOutput.self, BridgeStatusReported.self,
        ]
        for type in types {
            #expect(type._isSelfReport == (type is any SelfReport.Type), "\(type)")
        }
        #expect(WorkerReady._isSelfReport && !ShelfReported._isSelfReport)
    }

    @Test("A layout that only some types of a generic event have is used")
    func conditional() throws {
        // The names differ, so a layout that is used shows itself.
        #expect(try layoutMismatch(of: ShelfPaired(value: 7)) != nil)
    }

    @Test("whole and in order, one like the other")
    func crossing() async throws {
        let reports = Collected<ShelfReported>()
        let bridge = try await BridgeHost.inMemory(publisher, workers: [Self.reporter])
        let subscription = publisher.subscribe(to: ShelfReported.self) { reports.add($0) }
        for width in 0..<100 {
            try await publisher.send(ShelfMeasured(width: width, label: width % 3 == 0 ? nil : "shelf number \(width)"))
        }
        await reports.wait { $0.count == 100 }
        #expect(reports.all.map(\.width) == Array(0..<100))
        #expect(reports.all.allSatisfy { $0.label == ($0.width % 3 == 0 ? nil : "shelf number \($0.width)") })
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("and are refused where their initializer throws, with what it says")
    func refused() async throws {
        let bridge = try await BridgeHost.inMemory(publisher, workers: [Self.reporter])
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(ShelfMeasured.impossible, within: .seconds(60))
        }
        #expect(error?.description.contains("a shelf is not that narrow") == true, "\(String(describing: error))")
        await bridge.shutdown()
    }

    @Test("and so do those without a layout that a peer reads by one")
    func mixed() throws {
        #expect(try layoutMismatch(of: ShelfMeasured(width: 7, label: "seven")) == nil)
        #expect(try layoutMismatch(of: ShelfMeasured(width: 7, label: nil)) == nil)
    }
}
