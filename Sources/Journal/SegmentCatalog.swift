import BridgePlatform
package import JournalFormat

/// The segments of a journal, oldest first, as far as their names and heads tell.
package struct SegmentCatalog: Sendable {
    /// One file.
    package struct Segment: Sendable {
        package let number: UInt64
        /// Nil if the head cannot be read.
        package let head: SegmentHead?
        /// Why the head cannot be read.
        package let mistake: String?
        package let byteCount: Int

        package var fileName: String { SegmentCatalog.fileName(of: number) }
    }

    package private(set) var segments: [Segment] = []
    /// The names of files that were made ahead and hold nothing.
    package private(set) var unused: [String] = []

    private static let suffix = ".segment"
    private static let digits = 20
    /// The name of a file until it has room for a segment.
    static let unfinishedName = "unfinished"

    package init() {}

    /// Lists what lies in a directory.
    ///
    /// - Throws: ``JournalError`` also if a file is of a later version, or of another journal than the others.
    package init(of storage: any JournalStorage, at path: String) throws(JournalError) {
        do throws(SystemError) {
            for name in try storage.names() {
                guard let number = Self.number(of: name) else { continue }
                let file = try storage.open(name, forWriting: false)
                let byteCount = try file.byteCount()
                let beginning = UnsafeMutableRawBufferPointer.allocate(byteCount: SegmentHead.byteCount, alignment: 8)
                defer { beginning.deallocate() }
                let count = try file.read(at: 0, into: beginning)
                switch SegmentHead.read(UnsafeRawBufferPointer(rebasing: beginning[..<count])) {
                case .head(let head) where head.number == number:
                    append(Segment(number: number, head: head, mistake: nil, byteCount: byteCount))
                case .head(let head):
                    let mistake = "its head says that it is segment \(head.number)"
                    append(Segment(number: number, head: nil, mistake: mistake, byteCount: byteCount))
                case .unreadable(let mistake):
                    append(Segment(number: number, head: nil, mistake: mistake, byteCount: byteCount))
                case .unused: unused.append(name)
                }
            }
        } catch {
            throw JournalError(error, at: path)
        }
        try refuseForeign(path)
    }

    private func refuseForeign(_ path: String) throws(JournalError) {
        let heads = segments.compactMap(\.head)
        if let other = heads.first(where: { $0.journal != heads.first?.journal }) {
            let name = Self.fileName(of: other.number)
            throw JournalError(.foreign, "the journal \(path): \(name) belongs to another journal than the others")
        }
    }

    /// The name of a segment's file; names sort as numbers do.
    package static func fileName(of number: UInt64) -> String {
        let text = String(number)
        return String(repeating: "0", count: digits - text.utf8.count) + text + suffix
    }

    private static func number(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), name.utf8.count == digits + suffix.utf8.count,
            let number = UInt64(name.dropLast(suffix.utf8.count)), number > 0
        else { return nil }
        return number
    }

    mutating func append(_ segment: Segment) { segments.append(segment) }

    /// Takes the oldest segment out.
    mutating func removeOldest() -> Segment { segments.removeFirst() }

    /// Puts a segment back that ``removeOldest()`` took out.
    mutating func putBack(_ segment: Segment) { segments.insert(segment, at: 0) }

    mutating func removeLast() { segments.removeLast() }

    /// The journal's identity; nil if there is no head that says it.
    var journal: UInt64? { segments.lazy.compactMap(\.head).first?.journal }

    /// The position of the oldest event that may be there.
    package var firstPosition: UInt64? { segments.lazy.compactMap(\.head).first?.firstPosition }

    /// Where the reading of what comes behind a position begins.
    func index(behind position: UInt64) -> Int? {
        // A head's first position is at least 1.
        let found = segments.lastIndex { segment in segment.head.map { $0.firstPosition - 1 <= position } ?? false }
        return found ?? segments.indices.first
    }

    /// Where the records of a segment end; nil if the next segment does not say so.
    func end(ofSegmentAt index: Int) -> Int? {
        guard index + 1 < segments.count, segments[index + 1].number - 1 == segments[index].number,
            let next = segments[index + 1].head
        else { return nil }
        return min(next.previousEnd, segments[index].byteCount)
    }
}
