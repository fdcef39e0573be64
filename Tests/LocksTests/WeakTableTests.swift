import Locks
import Testing

private final class Thing {}

@Suite("A table of objects that it does not keep alive")
struct WeakTableTests {
    @Test("has an object and its value until the object dies, and then the value until the dead are removed")
    func lifeAndDeath() {
        var table = WeakTable<Thing, Int>()
        var things = [Thing()]
        let key = ObjectIdentifier(Self.self)
        for thing in things { #expect(table.insert(thing, 1, for: key) == nil) }
        let value = table[key]?.value
        #expect(value == 1)
        things = []
        let isThere = table[key] != nil
        #expect(!isThere)
        #expect(table.removeDead().values == [1])
        #expect(table.remove(key) == nil)
    }

    @Test("an entry takes the place of an earlier one with its identity, even of a dead object")
    func sameIdentity() {
        var table = WeakTable<Thing, Int>()
        let thing = Thing()
        let key = ObjectIdentifier(Self.self)
        table.insert(Thing(), 1, for: key)
        #expect(table.insert(thing, 2, for: key) == 1)
        #expect(table.insert(thing, 3, for: key) == 2)
        #expect(table[key]?.object === thing)
        #expect(table.remove(key) == 3)
        #expect(table.removeDead().values.isEmpty)
    }

    @Test("hands out the living objects with the values of the dead ones, so that the lock covers no deinit")
    func living() {
        var table = WeakTable<Thing, Int>()
        var things = [Thing(), Thing()]
        for (number, thing) in things.enumerated() { table.insert(thing, number, for: ObjectIdentifier(thing)) }
        things.removeLast()
        let (values, living) = table.removeDead()
        #expect(values == [1])
        // Another thread may release its reference while the table is looked through.
        things = []
        // Without the caller's reference the object would be dead, and its entry with it.
        let second = withExtendedLifetime(living) { table.removeDead().values }
        #expect(second.isEmpty)
    }
}
