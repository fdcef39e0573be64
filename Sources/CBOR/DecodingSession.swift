/// The working memory of one decoding: the bytes, and the cursors into the maps being read.
///
/// Each container has a cursor of its own, so a caller may hold several containers and read them in any order.
final class DecodingSession {
    let input: DecodingInput
    @exclusivity(unchecked) private(set) var isBusy = false

    /// How many values are being decoded inside each other.
    @exclusivity(unchecked) private(set) var level = 0

    private let levelLimit: Int

    /// The kept containers; nil for a session that is used for one value only, and for a retired session.
    @exclusivity(unchecked) private var kept: KeptContainers?
    /// The cursors of the kept containers.
    private let slotCursors: UnsafeMutablePointer<MapCursor>
    /// How many more containers are made and not kept.
    @exclusivity(unchecked) private var containersToPassUp = KeptContainers.passedUp

    /// Memory for the arguments of an event's initializer.
    @exclusivity(unchecked) private var argumentMemory: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var argumentBytes = 0
    @exclusivity(unchecked) private var argumentAlignment = 16

    /// Makes a session; with `keepingContainers`, the owner must call `retire()` in the end.
    init(limits: CBORLimits, keepingContainers: Bool = false) {
        // Nested values that share one item (an enumeration with a raw value, an optional) cost stack but no depth in
        // the bytes.
        levelLimit = limits.maximumDepth * 2 + 1
        slotCursors = .allocate(capacity: KeptContainers.count)
        slotCursors.initialize(repeating: MapCursor(), count: KeptContainers.count)
        let state = UnsafeMutablePointer<DecodingInput.State>.allocate(capacity: 1)
        state.initialize(to: DecodingInput.State(base: UnsafeRawPointer(slotCursors), limits: limits))
        input = DecodingInput(state: state)
        if keepingContainers { kept = KeptContainers() }
    }

    deinit {
        slotCursors.deinitialize(count: KeptContainers.count)
        slotCursors.deallocate()
        input.state.deinitialize(count: 1)
        input.state.deallocate()
        argumentMemory?.deallocate()
    }

    /// Memory for the values that one decoding makes on its way, with at least this size and alignment.
    @inline(__always)
    func arguments(_ bytes: Int, alignment: Int) -> UnsafeMutableRawPointer {
        if let argumentMemory, bytes <= argumentBytes, alignment <= argumentAlignment { return argumentMemory }
        return moreArguments(bytes, alignment: alignment)
    }

    @inline(never)
    private func moreArguments(_ bytes: Int, alignment: Int) -> UnsafeMutableRawPointer {
        argumentMemory?.deallocate()
        argumentBytes = max(bytes, 256)
        argumentAlignment = max(alignment, argumentAlignment)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: argumentBytes, alignment: argumentAlignment)
        argumentMemory = memory
        return memory
    }

    /// Releases the kept containers.
    ///
    /// A kept container does not retain the session. If a container is still in use, the session is never freed: a leak
    /// is better than a reference to freed memory. No ordinary `init(from:)` causes that.
    func retire() {
        guard let kept else { return }
        if !kept.areAllIdle { _ = Unmanaged.passRetained(self) }
        kept.destroy()
        self.kept = nil
    }

    @inline(__always)
    func begin(reading bytes: UnsafeRawBufferPointer) {
        input.state.pointee.base = bytes.baseAddress ?? UnsafeRawPointer(slotCursors)
        input.state.pointee.count = bytes.count
        input.state.pointee.finishedMap = -1
        input.state.pointee.paths = PathAllowance()
        isBusy = true
        level = 0
    }

    @inline(__always)
    func end() {
        // From now on, a container that outlives the value reads nothing instead of freed memory.
        input.state.pointee.base = UnsafeRawPointer(slotCursors)
        input.state.pointee.count = 0
        isBusy = false
        if input.state.pointee.hasTables || input.state.pointee.unmatchedCase != nil { clear() }
    }

    @inline(never)
    private func clear() {
        input.state.pointee.unmatchedCase = nil
        guard input.state.pointee.hasTables else { return }
        input.state.pointee.hasTables = false
        for index in 0..<KeptContainers.count { slotCursors[index].table = nil }
    }

    /// Decodes the value at an offset: a plain or special type directly, any other type by its own `init(from:)`.
    func decode<T: Decodable>(_ type: T.Type, at offset: Int) throws -> T {
        if PlainType.isPlain(type) {
            var end = offset
            return try PlainType.decode(type, at: &end, in: input)
        }
        if SpecialType.isSpecial(type) {
            return try SpecialType.decode(type, at: offset, in: input)
        }
        guard level < levelLimit else {
            throw CBORError(.depthExceeded(limit: input.limits.maximumDepth), offset: offset)
        }
        level &+= 1
        defer { level &-= 1 }
        do {
            return try T(from: ValueDecoder(session: self, offset: offset))
        } catch {
            throw described(error, at: offset)
        }
    }

    /// Decodes the value of the map entry at which the cursor stands.
    func decode<T: Decodable>(
        _ type: T.Type,
        at offset: Int,
        _ cursor: UnsafeMutablePointer<MapCursor>
    ) throws -> T {
        if PlainType.isPlain(type) {
            var end = offset
            let value = try PlainType.decode(type, at: &end, in: input)
            input.advance(cursor, to: end)
            return value
        }
        let position = cursor.pointee.position
        let value = try decode(type, at: offset)
        // The value's own code may have read this container, too.
        if let end = input.knownEnd(ofMapAt: offset), cursor.pointee.position == position {
            input.advance(cursor, to: end)
        }
        return value
    }
}

/// The standard library's containers for maps.
extension DecodingSession {
    @inline(__always)
    func container<Key: CodingKey>(keyedBy key: Key.Type, of map: MapPlace) -> KeyedDecodingContainer<Key> {
        if let kept {
            let slot = kept.freeSlot(for: ObjectIdentifier(key))
            if slot >= 0 {
                slotCursors[slot].reset(to: map)
                return kept.container(in: slot, loader: ContainerLoader<KeyedDecodingContainer<Key>>.self)
            }
        }
        return newContainer(keyedBy: key, of: map)
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(
        keyedBy key: Key.Type,
        of map: MapPlace
    ) -> KeyedDecodingContainer<Key> {
        if let kept, mayKeepContainers {
            let slot = kept.vacantSlot(for: ObjectIdentifier(key))
            if slot >= 0 {
                let container = KeyedDecodingContainer(KeptReader<Key>(session: self, cursor: slotCursors + slot))
                kept.keep(container, for: ObjectIdentifier(key), in: slot)
                slotCursors[slot].reset(to: map)
                return container
            }
        }
        return KeyedDecodingContainer(FreeReader<Key>(session: self, map: map))
    }

    private var mayKeepContainers: Bool {
        if containersToPassUp == 0 { return DecodingSession.canKeepContainers }
        containersToPassUp -= 1
        return false
    }

    private static let canKeepContainers: Bool = {
        let reader = FreeReader<PathKey>(session: DecodingSession(limits: .standard), map: .none)
        return KeptContainers.isReference(KeyedDecodingContainer(reader))
    }()
}

/// Turns an error of a type's own `init(from:)` into this module's error.
extension DecodingSession {
    @inline(never)
    func described(_ error: any Error, at offset: Int) -> CBORError {
        switch error {
        case let error as CBORError:
            return error
        case DecodingError.dataCorrupted(let context):
            if context.debugDescription.hasPrefix("Cannot initialize "), let name = rawCaseName(at: offset) {
                return CBORError(.unknownCase(name), offset: offset)
            }
            return CBORError(.invalidValue(context.debugDescription), offset: offset)
        case DecodingError.typeMismatch(let type, let context):
            if let unmatched = input.state.pointee.unmatchedCase, unmatched.map == offset,
                let key = MapKey(at: unmatched.key, in: input.bytes)
            {
                return CBORError(.unknownCase(key.plainText), offset: unmatched.key)
            }
            return CBORError(.invalidValue("expected \(type): \(context.debugDescription)"), offset: offset)
        case DecodingError.valueNotFound(let type, let context):
            return CBORError(.invalidValue("expected \(type): \(context.debugDescription)"), offset: offset)
        case DecodingError.keyNotFound(let key, _):
            return CBORError(.missingKey(key.stringValue), offset: offset)
        default:
            return CBORError(.invalidValue("\(error)"), offset: offset)
        }
    }

    /// The raw value that named no case, read again from the bytes.
    private func rawCaseName(at offset: Int) -> String? {
        var reader = input.reader(at: offset)
        switch reader.nextMajorType {
        case .text: return try? reader.readText()
        case .unsigned, .negative: return (try? reader.readHead())?.name
        default: return nil
        }
    }
}
