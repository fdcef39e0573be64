import Synchronization

/// The boxes that have been provisioned.
final class Shelf: Sendable {
    private let boxes = Mutex<Set<Int>>([])

    var count: Int { boxes.withLock { $0.count } }

    func put(_ box: Int) { _ = boxes.withLock { $0.insert(box) } }
}
