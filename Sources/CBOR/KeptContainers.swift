/// The keyed containers of a session, kept from one value to the next.
///
/// To make one costs an allocation and several look-ups of generic types in the Swift runtime: most of what it costs to
/// code a small value. One that only this table still refers to is handed out again. It knows its place in the value
/// only by its slot here, and the session writes the new place there.
///
/// The containers refer to their session. The user of the session ends that circle by destroying the table.
struct KeptContainers {
    private struct Slot {
        /// The container itself, which is no more than this reference; the first property, so that a slot's address is
        /// the container's.
        var box: AnyObject?
        var key: ObjectIdentifier?
        /// A `ContainerLoader` for the container's type.
        var loader: AnyObject?
    }

    static let count = 64
    /// How many slots next to each other may hold containers of one key type, which a type that contains itself needs.
    private static let probes = 4

    private let slots: UnsafeMutablePointer<Slot>

    init() {
        slots = .allocate(capacity: KeptContainers.count)
        slots.initialize(repeating: Slot(), count: KeptContainers.count)
    }

    /// Lets go of the containers and of the table, which must not be used again.
    func destroy() {
        slots.deinitialize(count: KeptContainers.count)
        slots.deallocate()
    }

    /// Whether none of the containers is in use.
    var areAllIdle: Bool {
        (0..<KeptContainers.count).allSatisfy { slots[$0].box == nil || isIdle($0) }
    }

    /// A slot whose container for this key type is not in use, -1 if there is none.
    @inline(__always)
    func freeSlot(for key: ObjectIdentifier) -> Int {
        var slot = KeptContainers.home(of: key)
        for _ in 0..<KeptContainers.probes {
            if slots[slot].key == key, isIdle(slot) { return slot }
            slot = (slot &+ 1) % KeptContainers.count
        }
        return -1
    }

    /// The container in a slot that `freeSlot(for:)` returned for its key type.
    @inline(__always)
    func container<Container>(in slot: Int, loader: ContainerLoader<Container>.Type) -> Container {
        // A table belongs to a session for reading or for writing, so the key type alone says which type `keep` was
        // given: the loader is of this one.
        let loader = unsafeBitCast(slots[slot].loader, to: ContainerLoader<Container>.self)
        return loader.load(from: slots + slot)
    }

    /// A slot that a container for this key type may be put into, -1 if all those are in use.
    func vacantSlot(for key: ObjectIdentifier) -> Int {
        var slot = KeptContainers.home(of: key)
        for _ in 0..<KeptContainers.probes {
            // One that is in use keeps its slot, and with it its place.
            if slots[slot].box == nil || isIdle(slot) { return slot }
            slot = (slot &+ 1) % KeptContainers.count
        }
        return -1
    }

    /// Puts a container of a type that `isReference` has been asked about into a slot.
    func keep<Container>(_ container: Container, for key: ObjectIdentifier, in slot: Int) {
        let box = withUnsafeBytes(of: container) { $0.load(as: AnyObject.self) }
        slots[slot] = Slot(box: box, key: key, loader: ContainerLoader<Container>())
    }

    /// Whether a container is nothing but a reference to a native object, so that as long as there is one reference to
    /// the object, there is no copy of the container.
    ///
    /// So it is in every standard library so far, but that is no promise; where it is otherwise, nothing is kept.
    static func isReference<Container>(_ container: Container) -> Bool {
        guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return false }
        let children = Mirror(reflecting: container).children
        guard children.count == 1, let child = children.first?.value, type(of: child) is AnyClass else { return false }
        let word = withUnsafeBytes(of: container) { $0.load(as: UInt.self) }
        return word == UInt(bitPattern: ObjectIdentifier(child as AnyObject))
    }

    /// Whether the container in a slot is there and has no user but the slot.
    @inline(__always)
    private func isIdle(_ slot: Int) -> Bool {
        isKnownUniquelyReferenced(&slots[slot].box)
    }

    @inline(__always)
    private static func home(of key: ObjectIdentifier) -> Int {
        // The golden ratio, whose bits are all over; 64 slots are six bits.
        Int(truncatingIfNeeded: (UInt64(UInt(bitPattern: key)) &* 0x9E37_79B9_7F4A_7C15) >> 58)
    }
}

/// Copies a container out of a slot.
///
/// In a class because that carries its type argument with it: generic code that only knows the key would have to look
/// the container's type up each time.
final class ContainerLoader<Container> {
    @inline(never)
    func load(from slot: UnsafeRawPointer) -> Container {
        slot.assumingMemoryBound(to: Container.self).pointee
    }
}
