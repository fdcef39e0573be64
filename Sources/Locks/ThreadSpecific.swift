public import CLocks

// The C library has a different name on each system. `BridgePlatform` hides that, but depends on this module.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Holds one object for each thread and releases the object when the thread ends.
///
/// Reading it costs one load. All values of one slot mean the same object, so each slot has only one type of objects.
@usableFromInline
package struct ThreadSpecific<Value: AnyObject>: Sendable {
    @usableFromInline let slot: ThreadSlot

    @inlinable
    package init(_ slot: ThreadSlot) {
        self.slot = slot
    }

    /// This thread's object.
    ///
    /// Setting it releases the previous object.
    @inlinable
    package var value: Value? {
        get { unmanagedValue?.takeUnretainedValue() }
        nonmutating set { slot.keep(newValue) }
    }

    /// This thread's object, without counting a reference; valid until this thread changes the slot.
    @inlinable
    package var unmanagedValue: Unmanaged<Value>? {
        cl_thread_object(slot.rawValue).map { Unmanaged.fromOpaque($0) }
    }
}

/// What a thread may keep: one object in each slot.
@usableFromInline
package enum ThreadSlot: CInt, Sendable, CaseIterable {
    case delivery
    case encodedEvent
    case payloadScratch
    case keyScratch
    case sparePlaces
    case payloadEncoder
    case poller
    /// For tests.
    case test
    // The last, because an object that is released at a thread's end may use locks, which ask for this slot.
    case simulation

    /// Keeps the object until this is called again, or until the thread ends.
    @usableFromInline
    func keep(_ object: AnyObject?) {
        let objects = cl_thread_objects()
        let previous = take(from: objects)
        if let object {
            objects[Int(rawValue)] = Unmanaged.passRetained(object).toOpaque()
            let result = pthread_setspecific(Self.atEnd, objects)
            // ENOMEM is possible when a thread uses one of the keys beyond the first 32 for the first time.
            precondition(result == 0, "No memory for this thread's objects: error \(result)")
        }
        // Last, because the object's deinit may come back to this slot.
        previous?.release()
    }

    private func take(from objects: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Unmanaged<AnyObject>? {
        defer { objects[Int(rawValue)] = nil }
        return objects[Int(rawValue)].map { Unmanaged.fromOpaque($0) }
    }

    /// The key whose destructor releases the objects of a thread that ends.
    ///
    /// If the deinit of such an object has the thread keep another one, the C library calls the destructor again.
    private static let atEnd: pthread_key_t = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key) { pointer in
            // Only some C libraries declare the pointer as one that may be nil; none of them passes nil.
            let kept: UnsafeMutableRawPointer? = pointer
            guard let kept else { return }
            let objects = kept.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
            for slot in ThreadSlot.allCases { slot.take(from: objects)?.release() }
            cl_free_thread_objects(objects)
        }
        precondition(result == 0, "The process has no thread-specific key left: error \(result)")
        return key
    }()
}
