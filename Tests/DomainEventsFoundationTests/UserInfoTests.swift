import DomainEvents
import DomainEventsFoundation
import EventBridgeTesting
import Foundation
import TestSupport
import Testing

private struct Item: Codable, Equatable {
    let itemID: Int64
    let title: String
    let note: String?
}

private enum Kind: String, Codable { case paper, wood }

private struct ParcelShipped: DomainEvent, Equatable {
    let boxID: Int64
    let counter: UInt64
    let small: Int8
    let weight: Double
    let scale: Float
    let isFragile: Bool
    let kind: Kind
    let label: String
    let note: String?
    let items: [Item]
    let byShelf: [String: Item]
    let gaps: [Int?]
    let date: Date
    let seal: Data
    let id: UUID
    let page: URL
    let price: Decimal

    static let sample = ParcelShipped(
        boxID: .max,
        counter: .max,
        small: .min,
        weight: 0.1,
        scale: 0.1,
        isFragile: true,
        kind: .wood,
        label: "Bücher",
        note: nil,
        items: [
            Item(itemID: 1 << 53 + 1, title: "A", note: nil), Item(itemID: .min, title: "B", note: "C"),
        ],
        byShelf: ["upper": Item(itemID: 3, title: "D", note: nil)],
        gaps: [1, nil, 3],
        date: Date(timeIntervalSinceReferenceDate: 0.125),
        seal: Data([0, 255]),
        id: UUID(),
        page: URL(filePath: "/boxes/7"),
        price: Decimal(string: "12345678901234567890.12") ?? 0
    )
}

private enum SketchSaving: DomainEvent, Equatable {
    case saved(Int64, in: Place)
    case failed(reason: String)

    enum Place: Codable, Equatable {
        case memory
        case file(String)
    }
}

private enum VoyagePhase: String, DomainEvent { case started, ended }

private struct LotteryNumbers: DomainEvent, Equatable {
    let numbers: [Int64]

    init(_ numbers: [Int64]) { self.numbers = numbers }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        var numbers: [Int64] = []
        while !container.isAtEnd { numbers.append(try container.decode(Int64.self)) }
        self.numbers = numbers
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for number in numbers { try container.encode(number) }
    }
}

private struct ShelfEmptied: DomainEvent, Equatable {}

private struct StockTaken: DomainEvent, Equatable {
    let weights: [Int64]
    let counts: [String: Int64]
}

private final class ShelfDerived: Base, DomainEvent, @unchecked Sendable {
    let extra: Int

    init(base: Int, extra: Int) {
        self.extra = extra
        super.init(base: base)
    }

    enum Keys: CodingKey { case extra }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        extra = try container.decode(Int.self, forKey: .extra)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(extra, forKey: .extra)
        try super.encode(to: container.superEncoder())
    }
}

private class Base: Codable, @unchecked Sendable {
    // Sendable: nothing in it or its one subclass ever changes.
    let base: Int

    init(base: Int) { self.base = base }
}

private indirect enum ShelfChain: DomainEvent {
    case end
    case link(ShelfChain)

    var length: Int {
        switch self {
        case .end: 0
        case .link(let chain): 1 + chain.length
        }
    }

    static func of(_ length: Int) -> ShelfChain { (0..<length).reduce(.end) { chain, _ in .link(chain) } }
}

@Suite("An event's fields become a notification's dictionary and come back the same", .timeLimit(.minutes(5)))
struct UserInfoTests {
    private let scene = Scene()

    /// Posts the event with one adapter; another publisher makes an event from the dictionary.
    private func roundTrip<E: DomainEvent>(_ event: E) async throws -> (userInfo: NotificationContent?, back: E?) {
        let other = EventPublisher()
        let recorder = EventRecorder(other, for: E.self)
        let errors = Collected<NotificationError>()
        let adapter = NotificationAdapter(other, center: scene.center) { errors.add($0) }
        adapter.publish(E.self)
        let seen = scene.observe(E.eventName)
        scene.adapter.post(E.self)
        scene.publisher.publish(event)
        try await scene.waitForPosts()
        #expect(errors.all.map(\.description) == [])
        return (seen.all.first, recorder.events(E.self).first)
    }

    @Test func withEveryTypeAsItself() async throws {
        let sample = ParcelShipped.sample
        let (userInfo, back) = try await roundTrip(sample)
        #expect(back == sample)
        let dictionary = try #require(userInfo)
        #expect(dictionary["boxID", as: Int64.self] == .max)
        #expect(dictionary["counter", as: UInt64.self] == .max)
        #expect(dictionary["small", as: Int8.self] == .min)
        #expect(dictionary["weight", as: Double.self] == 0.1)
        #expect(dictionary["isFragile", as: Bool.self] == true)
        #expect(dictionary["kind", as: String.self] == "wood")
        #expect(dictionary.userInfo["note"] == nil)
        #expect(dictionary["date", as: Date.self] == sample.date)
        #expect(dictionary["seal", as: Data.self] == sample.seal)
        #expect(dictionary["id", as: UUID.self] == sample.id)
        #expect(dictionary["page", as: URL.self] == sample.page)
        #expect(dictionary["price", as: Decimal.self] == sample.price)
        let items = try #require(dictionary["items", as: [[String: Any]].self])
        #expect(items.map { $0["itemID"] as? Int64 } == [9_007_199_254_740_993, .min])
        #expect(items.map { $0["title"] as? String } == ["A", "B"])
        #expect(items.map { $0.keys.contains("note") } == [false, true])
        #expect(dictionary["byShelf", as: [String: [String: Any]].self]?["upper"]?["title"] as? String == "D")
        #expect(dictionary["gaps", as: [Any].self]?[1] is NSNull)
    }

    @Test(arguments: [SketchSaving.saved(.max, in: .file("a.svg")), .saved(1, in: .memory), .failed(reason: "full")])
    private func withEnumCasesAsNestedDictionaries(_ event: SketchSaving) async throws {
        let back = try await roundTrip(event).back
        #expect(back == event)
    }

    @Test func withAnEventThatIsOneValueUnderTheKeyValue() async throws {
        let (userInfo, back) = try await roundTrip(VoyagePhase.ended)
        #expect(back == .ended)
        #expect(userInfo?["value", as: String.self] == "ended")
    }

    @Test func withAnEventThatIsAnArrayUnderTheKeyValue() async throws {
        let (userInfo, back) = try await roundTrip(LotteryNumbers([.max, .min]))
        #expect(back == LotteryNumbers([.max, .min]))
        #expect(userInfo?["value", as: [Int64].self] == [.max, .min])
    }

    @Test(.timeLimit(.minutes(1))) func withAsManyElementsAsItHas() async throws {
        // A copy of the whole array or dictionary for each element would take minutes.
        let counts = (0..<100_000).map { ("\($0)", Int64($0)) }
        let event = StockTaken(weights: Array(0..<400_000), counts: Dictionary(uniqueKeysWithValues: counts))
        let back = try await roundTrip(event).back
        #expect(back == event, "the event did not come back the same")
    }

    @Test func withAnEventThatHasNoFields() async throws {
        let (userInfo, back) = try await roundTrip(ShelfEmptied())
        #expect(back == ShelfEmptied())
        #expect(userInfo?.userInfo.isEmpty == true)
    }

    @Test func withFieldsOfASuperclass() async throws {
        let back = try await roundTrip(ShelfDerived(base: 1, extra: 2)).back
        #expect(back?.base == 1)
        #expect(back?.extra == 2)
    }

    @Test func asDeepAsAFewDozenLevels() async throws {
        let back = try await roundTrip(ShelfChain.of(30)).back
        #expect(back?.length == 30)
    }

    @Test func butNoDeeperThanTheStackCanBear() async throws {
        let seen = scene.observe("ShelfChain")
        scene.adapter.post(ShelfChain.self)
        scene.publisher.publish(ShelfChain.of(1_000))
        try await scene.waitForPosts()
        #expect(seen.all.isEmpty)
        #expect(scene.errors.all.map(\.code) == [.notEncodable])
    }
}

private struct ParcelReceived: DomainEvent, Equatable {
    let boxID: Int64
    let share: Double
    let isNew: Bool
    let note: String?
    let price: Decimal?
}

@Suite("A dictionary made by hand is read in Swift's types and in Foundation's")
struct ForeignUserInfoTests {
    private let scene = Scene()

    private func received(_ userInfo: [AnyHashable: Any]) -> [ParcelReceived] {
        let recorder = EventRecorder(scene.publisher, for: ParcelReceived.self)
        scene.adapter.publish(ParcelReceived.self)
        scene.post("ParcelReceived", userInfo)
        #expect(scene.errors.all.map(\.description) == [])
        return recorder.events(ParcelReceived.self)
    }

    @Test func ofNumberObjects() {
        let userInfo: [AnyHashable: Any] = [
            "boxID": NSNumber(value: Int64.max), "share": NSNumber(value: 0.25), "isNew": NSNumber(value: true),
            "note": NSString("N"), "price": NSDecimalNumber(string: "1.5"),
        ]
        #expect(received(userInfo) == [ParcelReceived(boxID: .max, share: 0.25, isNew: true, note: "N", price: 1.5)])
    }

    @Test func ofOtherIntegersThatAreExact() {
        let userInfo: [AnyHashable: Any] = ["boxID": UInt8(7), "share": 2, "isNew": false, "price": 3]
        #expect(received(userInfo) == [ParcelReceived(boxID: 7, share: 2, isNew: false, note: nil, price: 3)])
    }

    @Test func withNullsAndKeysOfOthers() {
        let userInfo: [AnyHashable: Any] = [
            "boxID": 7, "share": Float(0.5), "isNew": false, "note": NSNull(), "price": Decimal?.none as Any,
            42: "theirs",
            "more": Collected<Int>(),
        ]
        #expect(received(userInfo) == [ParcelReceived(boxID: 7, share: 0.5, isNew: false, note: nil, price: nil)])
    }
}
