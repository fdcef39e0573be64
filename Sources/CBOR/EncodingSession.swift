/// The working memory of one encoding: a stack of open levels over the buffer that is being written.
///
/// As long as containers are used in order, the session writes everything in place. It reserves one byte for a
/// container's head. It closes the container at the next write to the parent, or when the parent ends, and then fills
/// in the head. A closed container is known by its old serial number. If it is written to, the encoder starts over with
/// `separatesChildren`: each nested container and super encoder gets a session of its own, whose bytes are spliced in
/// at the end.
final class EncodingSession {
    struct Splice {
        var offset: Int
        var child: EncodingSession
    }

    let limits: CBORLimits
    @exclusivity(unchecked) private(set) var isBusy = false
    @exclusivity(unchecked) private(set) var wasUsedOutOfOrder = false

    /// The memory of the buffer being written; the caller of the encoder keeps the buffer alive until `end()`.
    @exclusivity(unchecked) private(set) var output: UnsafeMutablePointer<CBORBuffer.Storage>
    /// The output before and after a value, always empty, for containers and encoders that outlive their value.
    private let noOutput: UnsafeMutablePointer<CBORBuffer.Storage>

    @exclusivity(unchecked) private var frames: UnsafeMutablePointer<EncodingFrame>
    @exclusivity(unchecked) private var frameCapacity: Int
    private let frameLimit: Int
    @exclusivity(unchecked) private var top = -1
    @exclusivity(unchecked) private var lastSerial: UInt64 = 0

    /// The kept containers; nil for a session that is used for one value only, and for a retired session.
    @exclusivity(unchecked) var kept: KeptContainers?
    /// Which levels the kept containers write to.
    let slotLevels: UnsafeMutablePointer<EncodingLevel>
    /// How many more containers are made and not kept.
    @exclusivity(unchecked) var containersToPassUp = KeptContainers.passedUp

    /// Whether `misuse` or `splices` was changed; while neither was, most functions read only this flag.
    @exclusivity(unchecked) var isUnusual = false
    @exclusivity(unchecked) var misuse: CBORError?

    /// The buffer of a child's session; nil in all other sessions.
    @exclusivity(unchecked) var ownBuffer: CBORBuffer?
    @exclusivity(unchecked) private(set) var separatesChildren = false
    @exclusivity(unchecked) var splices: [Splice] = []
    @exclusivity(unchecked) var parentPath: [CBORPathStep] = []

    /// Makes a session; with `keepingContainers`, the owner must call `retire()` in the end.
    ///
    /// A value may have very many children with sessions of their own, so the session of a child begins small.
    init(limits: CBORLimits, keepingContainers: Bool = false, isChild: Bool = false) {
        self.limits = limits
        // A level that is a bare value, such as an enumeration's raw value, costs stack but no depth in the bytes.
        frameLimit = limits.maximumDepth * 2 + 2
        frameCapacity = isChild ? 2 : frameLimit
        frames = .allocate(capacity: frameCapacity)
        frames.initialize(repeating: EncodingFrame(), count: frameCapacity)
        noOutput = .allocate(capacity: 1)
        noOutput.initialize(to: CBORBuffer.Storage(minimumCapacity: 0))
        output = noOutput
        let slots = keepingContainers ? KeptContainers.count : 0
        slotLevels = .allocate(capacity: slots)
        slotLevels.initialize(repeating: .closed, count: slots)
        if keepingContainers { kept = KeptContainers() }
    }

    deinit {
        frames.deinitialize(count: frameCapacity)
        frames.deallocate()
        slotLevels.deallocate()
        noOutput.pointee.bytes.deallocate()
        noOutput.deallocate()
    }

    /// Releases the kept containers, which refer to the session.
    func retire() {
        kept?.destroy()
        kept = nil
    }

    /// Begins to write; the caller keeps the buffer alive until `end()`.
    func begin(writingInto buffer: CBORBuffer, separatingChildren: Bool = false) {
        // A container that is used after the end of its value leaves an error behind.
        if isUnusual { forgetUnusual() }
        output = buffer.storage
        separatesChildren = separatingChildren
        isBusy = true
    }

    func end() {
        top = -1
        isBusy = false
        output = noOutput
        if isUnusual { forgetUnusual() }
    }

    @inline(never)
    private func forgetUnusual() {
        isUnusual = false
        misuse = nil
        splices = []
        wasUsedOutOfOrder = false
    }

    func encodeRoot<T: Encodable>(_ value: T) throws {
        try encode(value, inside: -1)
        if isUnusual, let misuse { throw misuse }
    }

    /// Opens the map of a value; the caller writes the entries, and encodes their values `inside: 0`.
    func openRootMap() throws(CBORError) {
        let level = try push(inside: -1, isValue: true)
        let frame = frames + level.index
        frame.pointee.kind = .map
        frame.pointee.head = count
    }

    var count: Int { output.pointee.count }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: output.pointee.bytes, count: output.pointee.count)
    }

    // MARK: Values

    /// Writes a value into the level at `index`; the value's key, if it needs a key, has been written already.
    func encode<T: Encodable>(_ value: T, inside index: Int) throws {
        if PlainType.isPlain(T.self) { return PlainType.encode(value, to: output) }
        if SpecialType.isSpecial(T.self) { return try encodeSpecial(value, inside: index) }
        let start = mark
        do {
            let level = try push(inside: index, isValue: true)
            try value.encode(to: ValueEncoder(place: EncodingPlace(session: self, level: level)))
            try finish(level)
        } catch {
            throw rollBack(to: start, inside: index, after: error)
        }
    }

    @inline(never)
    private func encodeSpecial<T: Encodable>(_ value: T, inside index: Int) throws {
        let start = mark
        do throws(CBORError) {
            try SpecialType.encode(value, to: output, depth: childDepth(of: index), limits: limits)
        } catch {
            throw rollBack(to: start, inside: index, after: error)
        }
    }

    @inline(__always)
    private func finish(_ level: EncodingLevel) throws(CBORError) {
        let frame = frames + level.index
        // Usually all levels above this one are closed already.
        guard top == level.index, frame.pointee.serial == level.serial, frame.pointee.kind != .undecided else {
            return try finishUnusual(level)
        }
        patchHead(frame)
        top = level.index &- 1
    }

    @inline(never)
    private func finishUnusual(_ level: EncodingLevel) throws(CBORError) {
        guard top >= level.index, frames[level.index].serial == level.serial else {
            throw noteMisuse("a container was written while a value inside it was being encoded")
        }
        close(downTo: level.index)
        let frame = frames + level.index
        if frame.pointee.kind == .undecided {
            if let misuse { throw misuse }
            throw CBORError(.valueNotEncodable("its encode(to:) asked for no container"), offset: count)
        }
        patchHead(frame)
        top = level.index - 1
    }

    @inline(never)
    private func rollBack(to start: Mark, inside index: Int, after error: any Error) -> any Error {
        // The path is read first: it is made of the levels that are dropped below.
        var result = error
        if case EncodingError.invalidValue(_, let context) = error {
            result = CBORError(.valueNotEncodable(context.debugDescription), offset: count)
        }
        if var own = result as? CBORError, own.path.isEmpty {
            own.path = path(through: index).pathDescription
            result = own
        }
        truncate(to: start)
        top = index
        return result
    }

    /// Writes the value of the entry that was begun in the map at `index`.
    ///
    /// If the value cannot be written, the entry is removed. So an `encode(to:)` that catches the error goes on with an
    /// intact container.
    func encodeEntry<T: Encodable>(_ value: T, of index: Int) throws {
        do {
            try encode(value, inside: index)
        } catch {
            // The value itself is removed already. Containers that were open before the entry end before its key.
            output.pointee.count = frames[index].lastKey
            frames[index].count -= 1
            throw error
        }
    }

    /// Writes the element that was begun in the array at `index`; removes it if it cannot be written.
    func encodeElement<T: Encodable>(_ value: T, of index: Int) throws {
        do {
            try encode(value, inside: index)
        } catch {
            frames[index].count -= 1
            throw error
        }
    }

    /// A place in the output, and how many containers are to be spliced in before it.
    private struct Mark {
        let count: Int
        let splices: Int
    }

    private var mark: Mark { Mark(count: count, splices: isUnusual ? splices.count : 0) }

    private func truncate(to start: Mark) {
        output.pointee.count = min(start.count, count)
        guard isUnusual, splices.count > start.splices else { return }
        splices.removeSubrange(start.splices...)
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
    func push(inside index: Int, isValue: Bool) throws(CBORError) -> EncodingLevel {
        if index &+ 1 >= frameCapacity { try growFrames() }
        lastSerial &+= 1
        let frame = frames + (index &+ 1)
        frame.pointee.depth = childDepth(of: index)
        frame.pointee.serial = lastSerial
        frame.pointee.kind = .undecided
        frame.pointee.isValue = isValue
        frame.pointee.count = 0
        top = index &+ 1
        return EncodingLevel(serial: lastSerial, index: index &+ 1)
    }

    @inline(never)
    private func growFrames() throws(CBORError) {
        guard frameCapacity < frameLimit else { throw depthExceeded() }
        let capacity = min(frameCapacity * 2, frameLimit)
        let larger = UnsafeMutablePointer<EncodingFrame>.allocate(capacity: capacity)
        larger.moveInitialize(from: frames, count: frameCapacity)
        (larger + frameCapacity).initialize(repeating: EncodingFrame(), count: capacity - frameCapacity)
        frames.deallocate()
        frames = larger
        frameCapacity = capacity
    }

    /// Closes the nested containers above a level, so that the level is the one being written.
    @inline(__always)
    private func enter(_ level: EncodingLevel) throws(CBORError) -> UnsafeMutablePointer<EncodingFrame> {
        let frame = frames + level.index
        if level.index == top, frame.pointee.serial == level.serial { return frame }
        return try enterBelow(level)
    }

    @inline(never)
    private func enterBelow(_ level: EncodingLevel) throws(CBORError) -> UnsafeMutablePointer<EncodingFrame> {
        let frame = frames + level.index
        guard level.index < top, frame.pointee.serial == level.serial else { throw refusal(of: level) }
        close(downTo: level.index)
        return frame
    }

    /// Writes the key of the next entry of a map.
    @inline(__always)
    func beginEntry(_ key: String, of level: EncodingLevel) throws(CBORError) {
        let frame = try enter(level)
        frame.pointee.lastKey = count
        frame.pointee.count &+= 1
        output.pointee.text(key)
    }

    @inline(__always)
    func beginElement(of level: EncodingLevel) throws(CBORError) {
        try enter(level).pointee.count &+= 1
    }

    /// How many entries a container has so far; 0 for a closed container.
    func count(of level: EncodingLevel) -> Int {
        let frame = frames[level.index]
        return level.index <= top && frame.serial == level.serial ? frame.count : 0
    }

    /// Closes the levels above `index`: their contents are complete, so their counts are known.
    func close(downTo index: Int) {
        while top > index {
            let frame = frames + top
            if frame.pointee.isValue {
                _ = noteMisuse("a container was written while a value inside it was being encoded")
            }
            if frame.pointee.kind == .undecided {
                // Nothing was written to this super encoder. Writing to it later is out of order.
                output.pointee.append(0xA0)
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
        let gap = output.pointee.patchHead(major, frame.pointee.count, at: frame.pointee.head)
        if gap > 0, isUnusual { moveSplices(behind: frame.pointee.head, by: gap) }
    }

    /// Gives a level the shape that its encoder is asked for; a second request for the same container changes nothing.
    @inline(__always)
    func open(_ level: EncodingLevel, as kind: EncodingFrame.Kind) throws(CBORError) {
        let frame = try enter(level)
        guard frame.pointee.kind == .undecided else { return try reopen(frame, as: kind) }
        if kind != .single {
            guard frame.pointee.depth < limits.maximumDepth else { throw depthExceeded() }
            frame.pointee.head = count
            output.pointee.append(0)
        }
        frame.pointee.kind = kind
    }

    @inline(never)
    private func reopen(
        _ frame: UnsafeMutablePointer<EncodingFrame>,
        as kind: EncodingFrame.Kind
    ) throws(CBORError) {
        guard frame.pointee.kind == kind, kind != .single else {
            throw noteMisuse("its encode(to:) asked for containers of different kinds or wrote two single values")
        }
    }

    // MARK: Errors

    @inline(never)
    private func refusal(of level: EncodingLevel) -> CBORError {
        // A level with serial 0 stands for an error that `closedPlace` has kept.
        if level.serial == 0, let misuse { return misuse }
        isUnusual = true
        wasUsedOutOfOrder = true
        return noteMisuse("a container was written after its value had been finished")
    }

    private func noteMisuse(_ reason: String) -> CBORError {
        let error = CBORError(
            .valueNotEncodable(reason),
            offset: count,
            path: path(through: top).pathDescription
        )
        note(error)
        return error
    }

    func note(_ error: CBORError) {
        guard misuse == nil else { return }
        isUnusual = true
        misuse = error
        if error.path.isEmpty { misuse?.path = path(through: top).pathDescription }
    }

    private func depthExceeded() -> CBORError {
        CBORError(.depthExceeded(limit: limits.maximumDepth), offset: count)
    }

    /// The keys and indices that lead to the entry being written at a level.
    ///
    /// It has only the beginning of a long key, because each caught error and each separate child has a path.
    func path(through index: Int) -> [CBORPathStep] {
        var steps = parentPath
        for level in 0..<max(min(index, top) + 1, 0) {
            let frame = frames[level]
            switch frame.kind {
            case .map where frame.count > 0:
                steps.append(.key(MapKey(at: frame.lastKey, in: bytes)?.plainText(upTo: 1_024) ?? ""))
            case .array where frame.count > 0:
                steps.append(.index(frame.count - 1))
            default:
                break
            }
        }
        return steps
    }
}
