/// The subscribers of the event before, for a thread that has more events of the same type to hand over.
///
/// Whether they are still the present ones is one comparison, and no reference is counted for it. They keep what they
/// refer to alive: let go of them before a wait that has nothing to do with handlers.
package struct KeptSubscribers {
    var subscribers: SubscriberList?

    package init() {}
}
