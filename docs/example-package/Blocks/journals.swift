import DomainEvents
import Journal

var journal: EventJournal { fatalError() }
var database: WarehouseDatabase { fatalError() }

/// The database in which an application keeps its boxes.
struct WarehouseDatabase {
    func transaction(_ body: () throws -> Void) throws { try body() }
    func position() throws -> UInt64 { 0 }
    func setPosition(_ position: UInt64) throws {}
    func note(_ gap: String) throws {}
    func put(_ box: Int64, on shelf: String) throws {}
}
