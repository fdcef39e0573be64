// The C library has a different name on each system. `BridgePlatform` hides that, but depends on this module.
#if canImport(Glibc)
public import Glibc
#elseif canImport(Darwin)
public import Darwin
#endif

/// A slot that holds one object for each thread and releases the object when the thread ends.
///
/// Reading it costs one `pthread_getspecific`. A process has about a thousand such slots (512 on Darwin). So a slot
/// belongs in a `static let`, not in an object that comes and goes. When the slot itself is released, the objects that
/// other threads still keep in it are never released.
@usableFromInline
package final class ThreadSpecific<Value: AnyObject>: Sendable {
    @usableFromInline
    let key: pthread_key_t

    package init() {
        var key = pthread_key_t()
        let result = pthread_key_create(&key) { pointer in
            // Only some C libraries declare the pointer as one that may be nil; none of them passes nil.
            let stored: UnsafeMutableRawPointer? = pointer
            if let stored { Unmanaged<AnyObject>.fromOpaque(stored).release() }
        }
        precondition(result == 0, "The process has no thread-specific slot left: error \(result)")
        self.key = key
    }

    deinit {
        value = nil
        pthread_key_delete(key)
    }

    /// This thread's object.
    ///
    /// Setting it releases the previous object.
    @inlinable
    package var value: Value? {
        get { unmanagedValue?.takeUnretainedValue() }
        set {
            let previous = unmanagedValue
            let result = pthread_setspecific(key, newValue.map { Unmanaged.passRetained($0).toOpaque() })
            // ENOMEM is possible when a thread uses one of the slots beyond the first 32 for the first time.
            precondition(result == 0, "No memory for this thread's slot: error \(result)")
            // Last, because the object's deinit may come back to this slot.
            previous?.release()
        }
    }

    /// This thread's object, without counting a reference; valid until this thread changes the slot.
    @inlinable
    package var unmanagedValue: Unmanaged<Value>? {
        pthread_getspecific(key).map { Unmanaged.fromOpaque($0) }
    }
}
