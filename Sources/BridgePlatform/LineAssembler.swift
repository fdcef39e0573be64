/// Puts lines together from the pieces in which bytes arrive.
struct LineAssembler {
    private let maximumLength: Int
    private var pending: [UInt8] = []
    /// Whether the last byte was a carriage return, which is held: before a newline it is no part of the line.
    private var holdsReturn = false

    init(maximumLength: Int) {
        // A piece of a long line must have room for a whole character. In a shorter piece there might be no place to
        // cut but before its first byte, and the cutting would never end.
        self.maximumLength = max(4, maximumLength)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer, _ emit: (LinePipe.Line) -> Void) {
        var rest = bytes[...]
        if let next = rest.first, next != UInt8(ascii: "\n") { appendHeldReturn(emit) }
        while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<newline], emit)
            holdsReturn = false
            hand(over: pending.count, isContinued: false, emit)
            rest = rest[(newline + 1)...]
        }
        append(rest, emit)
    }

    /// Hands over the bytes that still wait for a newline, if there are any.
    mutating func flush(_ emit: (LinePipe.Line) -> Void) {
        appendHeldReturn(emit)
        if !pending.isEmpty { hand(over: pending.count, isContinued: false, emit) }
    }

    private mutating func appendHeldReturn(_ emit: (LinePipe.Line) -> Void) {
        guard holdsReturn else { return }
        holdsReturn = false
        withUnsafeBytes(of: UInt8(ascii: "\r")) { keep($0[...], emit) }
    }

    /// Appends the bytes, but holds back a carriage return at their end.
    private mutating func append(_ bytes: Slice<UnsafeRawBufferPointer>, _ emit: (LinePipe.Line) -> Void) {
        guard let last = bytes.last else { return }
        holdsReturn = last == UInt8(ascii: "\r")
        keep(holdsReturn ? bytes.dropLast() : bytes, emit)
    }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>, _ emit: (LinePipe.Line) -> Void) {
        var rest = bytes
        while pending.count + rest.count > maximumLength {
            let room = maximumLength - pending.count
            pending.append(contentsOf: rest.prefix(room))
            rest = rest.dropFirst(room)
            hand(over: cut(), isContinued: true, emit)
        }
        pending.append(contentsOf: rest)
    }

    private mutating func hand(over count: Int, isContinued: Bool, _ emit: (LinePipe.Line) -> Void) {
        if count == pending.count {
            let line = pending
            pending = []
            emit(LinePipe.Line(bytes: line, isContinued: isContinued))
        } else {
            let line = Array(pending[..<count])
            pending.removeFirst(count)
            emit(LinePipe.Line(bytes: line, isContinued: isContinued))
        }
    }

    /// Where to cut a full piece of a long line: not inside a character, if the bytes are UTF-8.
    private func cut() -> Int {
        for length in 1...3 {
            let start = pending.count - length
            let byte = pending[start]
            if byte & 0b1100_0000 == 0b1000_0000 { continue }
            let needed =
                switch byte {
                case 0b1111_0000...0b1111_0111: 4
                case 0b1110_0000...0b1110_1111: 3
                case 0b1100_0000...0b1101_1111: 2
                default: 1
                }
            return needed > length ? start : pending.count
        }
        return pending.count
    }
}
