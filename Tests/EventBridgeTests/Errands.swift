import DomainEvents
import Locks
import TestSupport

struct ErrandGiven: DomainEvent {
    let number: Int
}

struct ErrandDone: DomainEvent {
    let number: Int
}

struct ErrandsBegun: DomainEvent {}

struct ErrandReport: DomainEvent {
    let text: String
}

struct ErrandParcel: DomainEvent {
    let number: Int
    let filler: String
}

struct ErrandBroken: Error, CustomStringConvertible {
    let description = "the shelf is broken"
}

/// Lets handlers wait, and counts the waiting handlers.
final class ErrandGate: Sendable {
    private let opened = Collected<Void>()

    func open() { opened.add(()) }

    func pass() async { await opened.wait { !$0.isEmpty } }

    /// For handlers that block their thread.
    func block() {
        waitUntil { !opened.all.isEmpty }
    }
}
