import DomainEvents

/// The event names that the peer wants, and the number that each name has on this link.
///
/// A number means one name for as long as the link lives, even if the name is no longer wanted: events that carry the
/// number may still be under way.
package struct InterestTable: Sendable {
    private var wanted: [EventName: UInt64] = [:]
    private var names: [UInt64: EventName] = [:]
    private let limit: Int

    package init(limits: LinkLimits) {
        limit = limits.interestNames
    }

    /// The number of a name; nil if the peer does not want the name now.
    package func number(of name: String) -> UInt64? { wanted[EventName(name)] }

    /// The name that a number means; nil if the number has none.
    package func name(of number: UInt64) -> String? { names[number]?.text }

    package mutating func apply(_ interest: Interest) throws(LinkViolation) {
        for number in interest.unwanted {
            guard let name = names[number], wanted[name] == number else {
                throw LinkViolation("name number \(number) is no longer wanted, but was not before")
            }
            wanted[name] = nil
        }
        for entry in interest.wanted {
            let name = EventName(entry.name)
            if let known = names[entry.number], known != name {
                throw LinkViolation("name number \(entry.number) is given to \"\(known)\" and \"\(name)\"")
            }
            guard (entry.number == 0) == (entry.name == EventName.everything.text) else {
                throw LinkViolation(
                    "number 0 and the name \"*\" belong only to each other; found \(entry.number) for \"\(entry.name)\""
                )
            }
            guard wanted[name] == nil else { throw LinkViolation("the name \"\(entry.name)\" is wanted twice") }
            guard names.count < limit || names[entry.number] != nil else {
                throw LinkViolation("interest in more than \(limit) names")
            }
            names[entry.number] = name
            wanted[name] = entry.number
        }
    }
}
