import DomainEvents

struct Asked: DomainEvent, Codable {
    let number: Int
}

struct Answered: DomainEvent, Codable {
    let number: Int
}

struct Measured: DomainEvent, Codable {
    let number: Int
}

struct Filled: DomainEvent, Codable {
    let number: Int
    let filling: [UInt8]
}

/// One of some size.
struct BulkSent: DomainEvent, Codable {
    let number: Int
    let load: String

    init(_ number: Int, bytes: Int) {
        self.number = number
        load = String(repeating: "x", count: bytes)
    }
}
