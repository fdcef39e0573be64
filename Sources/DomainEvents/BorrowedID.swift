/// An event's identity, in a form whose copies count no references.
///
/// The code that makes this value keeps the source alive as long as the value is used.
package struct BorrowedID: BitwiseCopyable, Equatable {
    package let source: Unmanaged<EventSource>
    package let number: UInt64

    package init(source: Unmanaged<EventSource>, number: UInt64) {
        (self.source, self.number) = (source, number)
    }

    init(_ id: EventID) { self.init(source: .passUnretained(id.source), number: id.number) }

    package var id: EventID { EventID(source: source.takeUnretainedValue(), number: number) }

    package static func == (left: BorrowedID, right: BorrowedID) -> Bool {
        guard left.number == right.number else { return false }
        return left.source.toOpaque() == right.source.toOpaque() || left.id.source == right.id.source
    }
}
