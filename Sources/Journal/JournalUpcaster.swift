/// Says how the records of an older form of an event become events of the present type.
///
/// ```swift
/// let upcasters: [JournalUpcaster] = [
///     .from("BoxPutAway"),
///     .from("BoxStored") { fields in fields.rename("place", to: "shelf") },
/// ]
/// for try await step in journal.events(of: BoxShelved.self, after: 0, upcasting: upcasters) {}
/// ```
///
/// The upcasters of a record's name change the record, in their order in the list; then the record is decoded. The
/// files stay as they are. There are no version numbers: an upcaster of the event's present name gets every record of
/// that name, and sees from the fields whether there is something to change.
public struct JournalUpcaster: Sendable {
    typealias Change = @Sendable (inout JournalFields) throws -> Void

    let name: String
    let change: Change?

    /// Reads the records of a former name unchanged.
    public static func from(_ name: String) -> JournalUpcaster { JournalUpcaster(name: name, change: nil) }

    /// Changes the fields of the records of a name, which may be a former name or the present one.
    ///
    /// - Parameters:
    ///   - name: the name under which the records lie.
    ///   - change: depends on nothing but the fields. If it throws, the event becomes a gap with the error, and the
    ///     reader goes on with the next event; ``JournalRecord/event(as:upcasting:)`` throws the error. Any thread may
    ///     call it, and several at a time.
    public static func from(
        _ name: String,
        _ change: @escaping @Sendable (inout JournalFields) throws -> Void
    ) -> JournalUpcaster {
        JournalUpcaster(name: name, change: change)
    }
}
