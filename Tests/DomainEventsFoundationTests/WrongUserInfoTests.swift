import DomainEvents
import DomainEventsFoundation
import EventBridgeTesting
import Foundation
import TestSupport
import Testing

private struct Box: Codable {
    let id: Int64
    let label: String
}

private struct Item: Codable { let title: String }

private struct ParcelStored: DomainEvent {
    let box: Box
    let items: [Item]
    let small: UInt8
    let date: Date
    let kind: Kind

    enum Kind: String, Codable { case paper }

    struct TooMany: Error, CustomStringConvertible { let description: String }

    func validate() throws {
        if items.count > 2 { throw TooMany(description: "\(items.count) items; 2 are possible") }
    }
}

private enum ParcelSaving: DomainEvent {
    case saved(Int)
    case failed
}

private enum ParcelPhase: String, DomainEvent { case started }

/// An object of the program whose description must not get out.
private final class Secret: CustomStringConvertible {
    var description: String { "secret" }
}

@Suite("A wrong dictionary is reported with the place, what was found and what was expected")
struct WrongUserInfoTests {
    private let scene = Scene()

    private static func dictionary(_ change: (inout [String: Any]) -> Void) -> [String: Any] {
        var dictionary: [String: Any] = [
            "box": ["id": 7, "label": "Books"] as [String: Any], "items": [["title": "A"]], "small": 1, "date": Date(),
            "kind": "paper",
        ]
        change(&dictionary)
        return dictionary
    }

    private func error<E: DomainEvent>(_ type: E.Type, _ userInfo: [AnyHashable: Any]?) -> NotificationError? {
        let recorder = EventRecorder(scene.publisher, for: type)
        scene.adapter.publish(type)
        scene.post(E.eventName, userInfo)
        #expect(recorder.all.isEmpty)
        #expect(scene.errors.all.count == 1)
        return scene.errors.all.first
    }

    private func expect(
        _ path: String,
        _ found: String,
        _ expected: String,
        location: SourceLocation = #_sourceLocation,
        _ change: (inout [String: Any]) -> Void
    ) {
        let error = error(ParcelStored.self, Self.dictionary(change))
        #expect(error?.code == .notDecodable, sourceLocation: location)
        #expect(error?.path == path, sourceLocation: location)
        #expect(error?.found == found, sourceLocation: location)
        #expect(error?.expected == expected, sourceLocation: location)
    }

    @Test func whenAFieldIsMissing() { expect("small", "missing", "UInt8") { $0["small"] = nil } }

    @Test func whenANestedFieldIsMissing() { expect("box.id", "missing", "Int64") { $0["box"] = ["label": "Books"] } }

    @Test func whenANestedFieldIsOfAnotherType() {
        expect("items[1].title", "the number 5", "String") { $0["items"] = [["title": "A"], ["title": 5]] as [Any] }
    }

    @Test func whenANumberIsText() {
        expect("box.id", "\"7\"", "Int64") { $0["box"] = ["id": "7", "label": "B"] }
    }

    @Test func whenABooleanStandsForANumber() { expect("small", "true", "UInt8") { $0["small"] = true } }

    @Test func whenANumberIsTooLarge() { expect("small", "the number 300", "UInt8") { $0["small"] = 300 } }

    @Test func whenANumberIsNegative() { expect("small", "the number -1", "UInt8") { $0["small"] = Int64(-1) } }

    @Test func whenANumberIsNotWhole() { expect("small", "the number 1.5", "UInt8") { $0["small"] = 1.5 } }

    @Test func whenANumberIsNone() { expect("small", "the number nan", "UInt8") { $0["small"] = Double.nan } }

    @Test func whenAFieldIsNull() { expect("small", "null", "UInt8") { $0["small"] = NSNull() } }

    @Test func whenADictionaryIsAnArray() { expect("box", "an array", "a dictionary") { $0["box"] = [1] } }

    @Test func whenAnArrayIsADictionary() { expect("items", "a dictionary", "an array") { $0["items"] = ["a": 1] } }

    @Test func whenADateIsText() { expect("date", "\"today\"", "Date") { $0["date"] = "today" } }

    @Test func whenAFieldIsAnObjectOfTheProgramWhichIsNotAskedToDescribeItself() {
        expect("small", "of type Secret", "UInt8") { $0["small"] = Secret() }
    }

    @Test func whenTextIsLongWithItsBeginning() {
        let text = String(repeating: "x", count: 1_000)
        expect("small", "\"\(text.prefix(40))…\"", "UInt8") { $0["small"] = text }
    }

    @Test func whenAnEnumHasNoSuchCase() {
        let error = error(ParcelStored.self, Self.dictionary { $0["kind"] = "stone" })
        #expect(error?.path == "kind")
        #expect((error as (any Error)?)?.localizedDescription == error?.description)
        #expect(error?.found.contains("stone") == true)
    }

    @Test func whenAnEnumHasTwoCasesAtOnce() {
        let error = error(ParcelSaving.self, ["saved": ["_0": 1], "failed": [String: Any]()])
        #expect(error?.path == "")
        #expect(error?.code == .notDecodable)
    }

    @Test func whenASingleValueIsMissing() {
        let error = error(ParcelPhase.self, nil)
        #expect(
            error?.description
                == "notification \"ParcelPhase\" is no ParcelPhase: value should be String and is missing"
        )
    }

    @Test func whenThereIsNoDictionary() {
        #expect(
            error(ParcelStored.self, nil)?.description
                == "notification \"ParcelStored\" is no ParcelStored: box should be Box and is missing"
        )
    }

    @Test func whenTheEventThatItMakesIsInvalid() {
        let items = (0..<3).map { ["title": "\($0)"] }
        #expect(
            error(ParcelStored.self, Self.dictionary { $0["items"] = items })?.description
                == "notification \"ParcelStored\" is an invalid ParcelStored: 3 items; 2 are possible"
        )
    }

    @Test func whenItIsDeeperThanTheStackCanBear() {
        let ring = (0..<1_000).reduce(into: ["end": [String: Any]()] as [String: Any]) { ring, _ in
            ring = ["next": ["_0": ring]]
        }
        #expect(error(ParcelRing.self, ring)?.expected == "no deeper than 128")
    }

    private indirect enum ParcelRing: DomainEvent {
        case next(ParcelRing)
        case end
    }
}
