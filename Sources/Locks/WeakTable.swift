/// A table of objects, each with a value; the key is an identity: the object's own, or that of what it stands for.
///
/// The table keeps no object alive; a dead object's entry stays until ``removeDead()``. A lock usually guards the
/// table, and no deinit may run while that lock is held. But to see whether an object lives, the table has to take a
/// reference for a moment. Meanwhile another thread may release all other references. So the table hands out the
/// objects that it has found alive, and the caller releases them without the lock.
package struct WeakTable<Object: AnyObject, Value> {
    private struct Entry {
        weak var object: Object?
        let value: Value
    }

    private var entries: [ObjectIdentifier: Entry] = [:]

    package init() {}

    /// The living object with this identity, and its value; nil if there is none, or if it is dead.
    package subscript(identity: ObjectIdentifier) -> (object: Object, value: Value)? {
        guard let entry = entries[identity], let object = entry.object else { return nil }
        return (object, entry.value)
    }

    /// Makes an entry, in the place of an earlier one with this identity.
    ///
    /// - Returns: The value of the earlier entry, whose object may be dead; nil if there was none.
    @discardableResult
    package mutating func insert(_ object: Object, _ value: Value, for identity: ObjectIdentifier) -> Value? {
        entries.updateValue(Entry(object: object, value: value), forKey: identity)?.value
    }

    /// Removes an entry, and returns its value, even if its object is dead; nil if there was none.
    @discardableResult
    package mutating func remove(_ identity: ObjectIdentifier) -> Value? {
        entries.removeValue(forKey: identity)?.value
    }

    /// Removes the entries of dead objects.
    ///
    /// - Returns: The values of the dead objects, and the objects that live. The caller releases both without its lock.
    package mutating func removeDead() -> (values: [Value], living: [Object]) {
        var living: [Object] = []
        var dead: [ObjectIdentifier] = []
        for (identity, entry) in entries {
            if let object = entry.object { living.append(object) } else { dead.append(identity) }
        }
        // A loop: to call `compactMap`, the runtime would look for a conformance in all images of the process.
        var values: [Value] = []
        for identity in dead {
            if let entry = entries.removeValue(forKey: identity) { values.append(entry.value) }
        }
        return (values, living)
    }
}
