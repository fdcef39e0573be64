/// The keyed containers of a session, kept from one value to the next.
///
/// Making a container costs an allocation and several look-ups of generic types in the Swift runtime. That is most of
/// the cost of coding a small value. The table hands out a container again when only the table still refers to it. The
/// container reads its place in the value from its slot, where the session has written the new place.
///
/// The containers refer to their session, and the session to this table; `destroy()` breaks the cycle.
struct KeptContainers {
    private struct Slot {
        /// The container itself, which consists of this reference; it is the first property, so that the address of a
        /// slot is also the address of its container.
        var box: AnyObject?
        var key: ObjectIdentifier?
        /// A `ContainerLoader` for the container's type.
        var loader: AnyObject?
    }

    static let count = 64
    /// How many containers a session makes and lets go before it asks `isReference`.
    ///
    /// Asking takes far longer than coding a small value: `Mirror` makes the Swift runtime search the conformances of
    /// all images several times. A new process sends its first event before that, and one that codes little never asks.
    static let passedUp = 4
    /// How many adjacent slots may hold containers of one key type; a type that contains itself needs several.
    private static let probes = 4

    private let slots: UnsafeMutablePointer<Slot>

    init() {
        slots = .allocate(capacity: KeptContainers.count)
        slots.initialize(repeating: Slot(), count: KeptContainers.count)
    }

    /// Releases the containers and the table, which must not be used again.
    func destroy() {
        slots.deinitialize(count: KeptContainers.count)
        slots.deallocate()
    }

    /// Whether none of the containers is in use.
    var areAllIdle: Bool {
        (0..<KeptContainers.count).allSatisfy { slots[$0].box == nil || isIdle($0) }
    }

    /// A slot whose container for this key type is not in use; -1 if there is no such slot.
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
        // A table belongs either to a decoding or to an encoding session. So for one key type, `keep` always got the
        // same type of container, and stored a loader of that type.
        let loader = unsafeBitCast(slots[slot].loader, to: ContainerLoader<Container>.self)
        return loader.load(from: slots + slot)
    }

    /// A slot into which a container for this key type may be put; -1 if all such slots are in use.
    func vacantSlot(for key: ObjectIdentifier) -> Int {
        var slot = KeptContainers.home(of: key)
        for _ in 0..<KeptContainers.probes {
            // A container in use keeps its slot, and with the slot its place.
            if slots[slot].box == nil || isIdle(slot) { return slot }
            slot = (slot &+ 1) % KeptContainers.count
        }
        return -1
    }

    /// Puts a container into a slot; `isReference` must have been true of its type.
    func keep<Container>(_ container: Container, for key: ObjectIdentifier, in slot: Int) {
        let box = withUnsafeBytes(of: container) { $0.load(as: AnyObject.self) }
        slots[slot] = Slot(box: box, key: key, loader: ContainerLoader<Container>())
    }

    /// Whether a container is only a reference to a native object: then no copy of the container exists while the
    /// object has only one reference.
    ///
    /// This is so in every standard library so far, but no library promises it. Where it is not so, nothing is kept.
    static func isReference<Container>(_ container: Container) -> Bool {
        guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return false }
        let children = Mirror(reflecting: container).children
        guard children.count == 1, let child = children.first?.value, type(of: child) is AnyClass else { return false }
        let word = withUnsafeBytes(of: container) { $0.load(as: UInt.self) }
        return word == UInt(bitPattern: ObjectIdentifier(child as AnyObject))
    }

    /// Whether a slot has a container, and only the slot refers to it.
    @inline(__always)
    private func isIdle(_ slot: Int) -> Bool {
        isKnownUniquelyReferenced(&slots[slot].box)
    }

    @inline(__always)
    private static func home(of key: ObjectIdentifier) -> Int {
        // The golden ratio, whose set bits are spread out; 64 slots are six bits.
        Int(truncatingIfNeeded: (UInt64(UInt(bitPattern: key)) &* 0x9E37_79B9_7F4A_7C15) >> 58)
    }
}

/// Copies a container out of a slot.
///
/// This is a class, because a class carries its type argument with it. Generic code that knows only the key would have
/// to look the container's type up each time.
final class ContainerLoader<Container> {
    @inline(never)
    func load(from slot: UnsafeRawPointer) -> Container {
        slot.assumingMemoryBound(to: Container.self).pointee
    }
}
