import DomainEvents
import EventBridgeTesting
import Testing

private struct LampSwitched: LaidOutEvent {
    let number: Int
    let isOn: Bool

    static let layout = EventLayout(Self.init(number:isOn:), .field("number", \.number), .field("isOn", \.isOn))
}

/// An event whose layout forgets a property.
private struct LampBroken: LaidOutEvent {
    let number: Int
    var reason = "unknown"

    static let layout = EventLayout({ LampBroken(number: $0) }, .field("number", \.number))
}

@Suite("Checking a layout")
struct LayoutMismatchTests {
    @Test("finds nothing where it writes and reads what Codable does")
    func right() throws {
        #expect(try layoutMismatch(of: LampSwitched(number: 3, isOn: true)) == nil)
    }

    @Test("says what is wrong where it does not")
    func wrong() throws {
        #expect(
            try layoutMismatch(of: LampBroken(number: 3))
                == "The layout of LampBroken writes 1 fields where Codable has 2"
        )
    }
}
