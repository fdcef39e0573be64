/// The working memory of one encoding: a stack of open levels over the buffer that is being written.
///
/// As long as containers are used in order, everything is written in place: a head of one byte is reserved and filled
/// in when its container is closed, which happens when the parent goes on. Writing to a container that is closed
/// is noticed by its serial number; the encoder then starts over with `separatesChildren`, where each nested container
/// and super encoder is a session of its own that is spliced in at the end.
final class EncodingSession {
    private struct Splice {
        var offset: Int
        var child: EncodingSession
    }

    let limits: CBORLimits
    private(set) var buffer: CBORBuffer
    private(set) var isBusy = false
    private(set) var wasUsedOutOfOrder = false

    private let frames: UnsafeMutablePointer<EncodingFrame>
    private let frameCapacity: Int
    private var top = -1
    private var lastSerial: UInt64 = 0
    /// Whether anything below was touched: the one flag to look at when all goes well.
    private var isUnusual = false
    private var misuse: CBORError?

    private var separatesChildren = false
    private var splices: [Splice] = []
    private var parentPath: [CBORPathStep] = []

    private static let noBuffer = 16

    init(limits: CBORLimits) {
        self.limits = limits
        // A level that is a bare value (an enumeration with a raw value, an optional) has no depth in the bytes but
        // costs stack all the same.
        frameCapacity = limits.maximumDepth * 2 + 2
        frames = .allocate(capacity: frameCapacity)
        frames.initialize(repeating: EncodingFrame(), count: frameCapacity)
        buffer = CBORBuffer(minimumCapacity: EncodingSession.noBuffer)
    }

    deinit {
        frames.deinitialize(count: frameCapacity)
        frames.deallocate()
    }

    func begin(writingInto buffer: CBORBuffer, separatingChildren: Bool = false) {
        self.buffer = buffer
        separatesChildren = separatingChildren
        isBusy = true
    }

    func end() {
        top = -1
        isBusy = false
        guard isUnusual else { return }
        isUnusual = false
        misuse = nil
        splices = []
        wasUsedOutOfOrder = false
    }

    func encodeRoot<T: Encodable>(_ value: T) throws {
        try encode(value, inside: -1)
        if isUnusual, let misuse { throw misuse }
    }

    // MARK: Values

    /// Writes a value whose key, if it needs one, has been written to the level at `index`.
    @inline(__always)
    func encode<T: Encodable>(_ value: T, inside index: Int) throws {
        if PlainType.encode(value, to: CBORWriter(buffer)) { return }
        if try encodeSpecial(value, inside: index) { return }
        let start = buffer.count
        do {
            let place = try push(inside: index, isValue: true)
            try value.encode(to: ValueEncoder(place: place))
            try finish(place)
        } catch {
            throw rollBack(to: start, inside: index, after: error)
        }
    }

    /// Writes what has a form of its own, and says whether it did.
    @inline(__always)
    private func encodeSpecial<T: Encodable>(_ value: T, inside index: Int) throws -> Bool {
        guard SpecialType.isSpecial(T.self) else { return false }
        let start = buffer.count
        do throws(CBORError) {
            try SpecialType.encode(value, to: CBORWriter(buffer), depth: childDepth(of: index), limits: limits)
        } catch {
            throw rollBack(to: start, inside: index, after: error)
        }
        return true
    }

    private func finish(_ place: EncodingPlace) throws {
        guard top >= place.index, frames[place.index].serial == place.serial else {
            throw noteMisuse("a container was written while a value inside it was being encoded")
        }
        close(downTo: place.index)
        let frame = frames + place.index
        if frame.pointee.kind == .undecided {
            if let misuse { throw misuse }
            throw CBORError(.valueNotEncodable("its encode(to:) asked for no container"), offset: buffer.count)
        }
        patchHead(frame)
        top = place.index - 1
    }

    @inline(never)
    private func rollBack(to start: Int, inside index: Int, after error: any Error) -> any Error {
        // Before the levels above are dropped: they are what the path is made of.
        var result = error
        if case EncodingError.invalidValue(_, let context) = error {
            result = CBORError(.valueNotEncodable(context.debugDescription), offset: buffer.count)
        }
        if var own = result as? CBORError, own.path.isEmpty {
            own.path = path(through: index).pathDescription
            result = own
        }
        truncate(to: start)
        top = index
        return result
    }

    /// Takes back an entry of the container at `index` whose value could not be written, so that a value that catches
    /// the error goes on with a whole container.
    func removeLastEntry(at index: Int, from start: Int) {
        truncate(to: start)
        frames[index].count -= 1
    }

    private func truncate(to start: Int) {
        buffer.truncate(to: min(start, buffer.count))
        guard isUnusual else { return }
        while let last = splices.last, last.offset >= start { splices.removeLast() }
    }

    // MARK: Levels

    private func childDepth(of index: Int) -> Int {
        guard index >= 0 else { return parentPath.count }
        switch frames[index].kind {
        case .map, .array: return frames[index].depth + 1
        case .undecided, .single: return frames[index].depth
        }
    }

    @inline(__always)
    private func push(inside index: Int, isValue: Bool) throws(CBORError) -> EncodingPlace {
        guard index + 1 < frameCapacity else { throw depthExceeded() }
        lastSerial &+= 1
        let frame = frames + (index + 1)
        frame.pointee.depth = childDepth(of: index)
        frame.pointee.serial = lastSerial
        frame.pointee.kind = .undecided
        frame.pointee.isValue = isValue
        frame.pointee.count = 0
        top = index + 1
        return EncodingPlace(session: self, serial: lastSerial, index: index + 1)
    }

    /// Makes the level of `place` the one that is written, closing nested containers above it.
    @inline(__always)
    func enter(_ place: EncodingPlace) throws(CBORError) -> UnsafeMutablePointer<EncodingFrame> {
        let frame = frames + place.index
        if place.index == top, frame.pointee.serial == place.serial { return frame }
        guard place.index < top, frame.pointee.serial == place.serial else { throw refusal(of: place) }
        close(downTo: place.index)
        return frame
    }

    /// How many entries a container has so far; 0 for one that is closed.
    func count(of place: EncodingPlace) -> Int {
        let frame = frames[place.index]
        return place.index <= top && frame.serial == place.serial ? frame.count : 0
    }

    /// Closes the levels above `index`: their contents are complete, their counts become known.
    private func close(downTo index: Int) {
        while top > index {
            let frame = frames + top
            if frame.pointee.isValue {
                _ = noteMisuse("a container was written while a value inside it was being encoded")
            }
            if frame.pointee.kind == .undecided {
                // A super encoder that nobody has written to. If somebody does later, it is out of order.
                buffer.append(0xA0)
            }
            patchHead(frame)
            top -= 1
        }
    }

    @inline(__always)
    private func patchHead(_ frame: UnsafeMutablePointer<EncodingFrame>) {
        let major: CBORMajorType
        switch frame.pointee.kind {
        case .map: major = .map
        case .array: major = .array
        case .undecided, .single: return
        }
        let count = frame.pointee.count
        if count < 24 {
            buffer.patch(at: frame.pointee.head, with: major.rawValue << 5 | UInt8(truncatingIfNeeded: count))
        } else {
            patchLongHead(major, count, at: frame.pointee.head)
        }
    }

    private func patchLongHead(_ major: CBORMajorType, _ count: Int, at head: Int) {
        let argument = UInt64(count)
        let gap = argument <= 0xFF ? 1 : argument <= 0xFFFF ? 2 : argument <= 0xFFFF_FFFF ? 4 : 8
        buffer.insertGap(gap, at: head + 1)
        for index in splices.indices where splices[index].offset > head { splices[index].offset += gap }
        let target = buffer.storage.pointee.bytes + head
        _ = CBORWriter.storeHead(major.rawValue << 5, argument, at: target)
    }

    /// Gives a level the shape that its encoder is asked for; asking again for the same shape goes on with it.
    @inline(__always)
    func open(_ place: EncodingPlace, as kind: EncodingFrame.Kind) throws(CBORError) {
        let frame = try enter(place)
        if frame.pointee.kind == kind, kind != .single { return }
        guard frame.pointee.kind == .undecided else {
            throw noteMisuse("its encode(to:) asked for containers of different kinds or wrote two single values")
        }
        if kind != .single {
            guard frame.pointee.depth < limits.maximumDepth else { throw depthExceeded() }
            frame.pointee.head = buffer.count
            buffer.append(0)
        }
        frame.pointee.kind = kind
    }

    /// Opens a level inside the container at `parent`, whose key has been written: a nested container, or, with
    /// `.undecided`, a super encoder.
    ///
    /// Trouble is kept and comes out of the next write or of the encoder.
    func openChild(of parent: EncodingPlace, as kind: EncodingFrame.Kind) -> EncodingPlace {
        do throws(CBORError) {
            if separatesChildren { return try openSeparateChild(of: parent, as: kind) }
            let place = try push(inside: parent.index, isValue: false)
            if kind != .undecided { try open(place, as: kind) }
            return place
        } catch {
            return closedPlace(because: error)
        }
    }

    /// A place that refuses every write, for where an error cannot be thrown.
    func closedPlace(because error: CBORError) -> EncodingPlace {
        note(error)
        return EncodingPlace(session: self, serial: 0, index: 0)
    }

    // MARK: Children written out of order

    private func openSeparateChild(
        of parent: EncodingPlace,
        as kind: EncodingFrame.Kind
    ) throws(CBORError) -> EncodingPlace {
        let child = EncodingSession(limits: limits)
        child.begin(writingInto: CBORBuffer(), separatingChildren: true)
        child.parentPath = path(through: parent.index)
        let place = try child.push(inside: -1, isValue: false)
        if kind != .undecided { try child.open(place, as: kind) }
        isUnusual = true
        splices.append(Splice(offset: buffer.count, child: child))
        return place
    }

    /// Appends what was written here with the children in their places.
    func assemble(into output: CBORBuffer) throws(CBORError) {
        if let misuse { throw misuse }
        var start = 0
        for splice in splices {
            output.append(UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<splice.offset]))
            start = splice.offset
            splice.child.close(downTo: -1)
            try splice.child.assemble(into: output)
        }
        output.append(UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]))
    }

    // MARK: Errors

    @inline(never)
    private func refusal(of place: EncodingPlace) -> CBORError {
        // Serial 0 was handed out because of an error that is still to be thrown.
        if place.serial == 0, let misuse { return misuse }
        isUnusual = true
        wasUsedOutOfOrder = true
        return noteMisuse("a container was written after its value had been finished")
    }

    private func noteMisuse(_ reason: String) -> CBORError {
        let error = CBORError(
            .valueNotEncodable(reason),
            offset: buffer.count,
            path: path(through: top).pathDescription
        )
        note(error)
        return error
    }

    private func note(_ error: CBORError) {
        guard misuse == nil else { return }
        isUnusual = true
        misuse = error
        if error.path.isEmpty { misuse?.path = path(through: top).pathDescription }
    }

    private func depthExceeded() -> CBORError {
        CBORError(.depthExceeded(limit: limits.maximumDepth), offset: buffer.count)
    }

    /// The keys and indices that lead to the entry being written at a level.
    func path(through index: Int) -> [CBORPathStep] {
        var steps = parentPath
        for level in 0..<max(min(index, top) + 1, 0) {
            let frame = frames[level]
            switch frame.kind {
            case .map where frame.count > 0:
                steps.append(.key(MapKey(at: frame.lastKey, in: buffer.bytes)?.plainText ?? ""))
            case .array where frame.count > 0:
                steps.append(.index(frame.count - 1))
            default:
                break
            }
        }
        return steps
    }
}
