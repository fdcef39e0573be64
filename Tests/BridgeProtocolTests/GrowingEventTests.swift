import CBOR
import DomainEvents
import Testing

@testable import BridgeProtocol

/// The event as its first version has it, and as later ones do.
private enum Version {
    struct First: DomainEvent {
        var id = 1
        var label = "Books"
    }

    struct WithOptional: DomainEvent {
        let id: Int
        let label: String
        let color: String?
    }

    struct WithoutLabel: DomainEvent { let id: Int }

    struct WithDefault: DomainEvent {
        var id = 1
        var label = "Books"
        var color = "plain"
    }

    struct WithReadDefault: DomainEvent {
        let id: Int
        let color: String

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            id = try fields.decode(Int.self, forKey: .id)
            color = try fields.decodeIfPresent(String.self, forKey: .color) ?? "plain"
        }
    }

    struct Renamed: DomainEvent { let title: String }

    struct RenamedInSwift: DomainEvent {
        let title: String

        enum CodingKeys: String, CodingKey { case title = "label" }
    }

    struct OtherType: DomainEvent { let id: String }
    struct Narrower: DomainEvent { let id: Int8 }
    struct Wider: DomainEvent { let id: Int64 }
}

private enum Kinds {
    enum New: String, Codable, Sendable { case book, lamp }
    enum Old: String, Codable, Sendable { case book }

    /// Keeps what it does not know.
    enum Open: Codable, Sendable, Equatable {
        case book
        case unknown(String)

        init(from decoder: any Decoder) throws {
            let name = try decoder.singleValueContainer().decode(String.self)
            self = name == "book" ? .book : .unknown(name)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .book: try container.encode("book")
            case .unknown(let name): try container.encode(name)
            }
        }
    }

    struct Newer: DomainEvent { var kind = New.lamp }
    struct Older: DomainEvent { let kind: Old }
    struct Opened: DomainEvent { let kind: Open }

    enum NewChange: DomainEvent {
        case added(Int)
        case removed(Int)
    }

    enum OldChange: DomainEvent { case added(Int) }
}

@Suite("docs/guide/growing-events.md: what an older and a newer program make of each other's events")
struct GrowingEventTests {
    private func read<Written: DomainEvent, Read: DomainEvent>(
        _ written: Written,
        as type: Read.Type
    ) throws -> Read {
        let buffer = CBORBuffer()
        #expect(throws: Never.self) { try PayloadCoder<Written>().encode(written, into: buffer, with: CBOREncoder()) }
        return try PayloadCoder<Read>().decode(buffer.bytes, with: CBORDecoder())
    }

    private func refusal<Written: DomainEvent, Read: DomainEvent>(_ written: Written, as type: Read.Type) -> String? {
        do {
            _ = try read(written, as: type)
            return nil
        } catch {
            return (error as? CBORError)?.sentenceOfValue ?? "\(error)"
        }
    }

    @Test("a field is added as an optional, or with a default that is read; fields that are not known are left out")
    func compatible() throws {
        #expect(try read(Version.First(), as: Version.WithOptional.self).color == nil)
        #expect(try read(Version.First(), as: Version.WithReadDefault.self).color == "plain")
        #expect(try read(Version.WithDefault(color: "red"), as: Version.WithReadDefault.self).color == "red")
        #expect(try read(Version.WithDefault(), as: Version.First.self).label == "Books")
        #expect(try read(Version.First(), as: Version.WithoutLabel.self).id == 1)
        #expect(try read(Version.First(), as: Version.RenamedInSwift.self).title == "Books")
        #expect(try read(Version.First(id: -1), as: Version.Wider.self).id == -1)
        #expect(try read(Kinds.Newer(), as: Kinds.Opened.self).kind == .unknown("lamp"))
    }

    @Test("what cannot be read is refused with the field, and what was expected and found")
    func incompatible() {
        #expect(refusal(Version.First(), as: Version.WithDefault.self) == "The key \"color\" is missing.")
        #expect(refusal(Version.First(), as: Version.Renamed.self) == "The key \"title\" is missing.")
        #expect(
            refusal(Version.First(), as: Version.OtherType.self)
                == "Expected a text string but found the integer 1 at id."
        )
        #expect(refusal(Version.First(), as: Version.Narrower.self) == nil)
        #expect(
            refusal(Version.First(id: 300), as: Version.Narrower.self)
                == "The number 300 does not fit in Int8 at id."
        )
        #expect(refusal(Kinds.Newer(), as: Kinds.Older.self) == "Found the unknown case \"lamp\" at kind.")
        #expect(
            refusal(Kinds.NewChange.removed(1), as: Kinds.OldChange.self)
                == "Found the unknown case \"removed\" at removed."
        )
    }
}
