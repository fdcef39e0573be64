/// The subscribers of the previous event, for a thread that hands over more events of the same type.
///
/// One comparison shows whether the subscribers are still current, without counting a reference. They keep their
/// handlers alive: release them before a wait that has nothing to do with handlers.
package struct KeptSubscribers {
    var subscribers: SubscriberList?

    package init() {}
}
