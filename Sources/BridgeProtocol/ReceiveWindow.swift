/// What the receiving side of a link remembers: which events have arrived, which are handled, and which of the handled
/// events are acknowledged to the peer.
///
/// A pure value. Sequences are consecutive, so the window needs one slot for each event from the oldest unhandled event
/// to the newest event.
package struct ReceiveWindow: Sendable {
    /// How soon to acknowledge.
    package enum Urgency: Sendable, Hashable {
        /// There is nothing new to acknowledge.
        case none
        /// Acknowledge with the next frame that leaves, or soon if none does.
        case soon
        /// Acknowledge at once: a quarter of the window is handled, or a caller waits until the link is quiet.
        case now
    }

    private struct Slot {
        var charge: UInt32 = 0
        var isHandled = false
        var isAnnounced = false
    }

    private let windowBytes: Int
    private let windowEvents: Int

    /// The newest event that has arrived.
    package private(set) var lastReceived: UInt64 = 0
    /// Every event up to this one is handled.
    package private(set) var mark: UInt64 = 0

    private var slots: [Slot]
    private var handledAboveMark = 0
    private var announcedMark: UInt64 = 0
    /// How much has arrived and is not acknowledged to the peer yet.
    private var openBytes = 0
    private var openEvents = 0
    /// How much is handled and not acknowledged to the peer yet.
    private var unannouncedBytes = 0
    private var unannouncedEvents = 0
    /// How many unannounced bytes and events did not fit into the ranges of the last acknowledgement.
    private var unsaidBytes = 0
    private var unsaidEvents = 0

    package init(windowBytes: Int, windowEvents: Int) {
        self.windowBytes = windowBytes
        self.windowEvents = windowEvents
        slots = Array(repeating: Slot(), count: 256)
    }

    /// How many events so far found no handler when they arrived.
    package private(set) var unwantedEvents: UInt64 = 0
    /// The total length of the frames of all events and gaps so far, in bytes.
    package private(set) var receivedBytes: UInt64 = 0

    /// How many events have arrived and are not handled yet.
    package var unhandledEvents: Int { Int(lastReceived - mark) - handledAboveMark }

    private func slotIndex(_ sequence: UInt64) -> Int {
        Int(truncatingIfNeeded: sequence) & (slots.count - 1)
    }

    /// Notes an event frame.
    ///
    /// - Parameters:
    ///   - announced: the link sequence that the frame says it has.
    ///   - frameLength: the length of the frame, in bytes.
    /// - Returns: The event's sequence, which was checked.
    @discardableResult
    package mutating func eventReceived(
        sequence announced: UntrustedNumber,
        frameLength: Int
    ) throws(LinkViolation) -> UInt64 {
        let sequence = lastReceived &+ 1
        guard announced == sequence else {
            throw LinkViolation("event with sequence \(announced) arrived where \(sequence) was expected")
        }
        let charge = LinkLimits.charge(forFrameOf: frameLength)
        // An event larger than the window may come if no other event is unacknowledged.
        guard openEvents == 0 || (openEvents < windowEvents && openBytes + charge <= windowBytes) else {
            throw LinkViolation(
                """
                event \(sequence) exceeds the window: \(openEvents) events with \(openBytes) bytes are unacknowledged, \
                \(windowEvents) events or \(windowBytes) bytes were granted
                """
            )
        }
        guard sequence <= LinkLimits.lastSequence(afterMark: announcedMark, windowEvents: windowEvents) else {
            throw LinkViolation("event \(sequence) is too far beyond \(announcedMark), the last acknowledged one")
        }
        if Int(sequence - mark) > slots.count { grow() }
        lastReceived = sequence
        slots[slotIndex(sequence)] = Slot(charge: UInt32(clamping: charge))
        openEvents += 1
        openBytes += charge
        receivedBytes &+= UInt64(clamping: frameLength)
        return sequence
    }

    /// Forgets the events behind this one, as if they had not come; none of them may be handled yet.
    ///
    /// - Parameter frameBytes: how many bytes their frames have together.
    package mutating func giveBack(behind sequence: UInt64, frameBytes: Int) {
        while lastReceived > sequence {
            openEvents -= 1
            openBytes -= Int(slots[slotIndex(lastReceived)].charge)
            lastReceived -= 1
        }
        receivedBytes &-= UInt64(clamping: frameBytes)
    }

    private mutating func grow() {
        var larger = Array(repeating: Slot(), count: slots.count * 2)
        var sequence = mark + 1
        while sequence <= lastReceived {
            larger[Int(truncatingIfNeeded: sequence) & (larger.count - 1)] = slots[slotIndex(sequence)]
            sequence += 1
        }
        slots = larger
    }

    /// Notes that the last handler of an event has returned.
    @discardableResult
    package mutating func eventHandled(sequence: UInt64, wasUnwanted: Bool = false) -> Urgency {
        guard sequence > mark, sequence <= lastReceived else { return .none }
        let index = slotIndex(sequence)
        guard !slots[index].isHandled else { return .none }
        slots[index].isHandled = true
        if wasUnwanted { unwantedEvents += 1 }
        unannouncedEvents += 1
        unannouncedBytes += Int(slots[index].charge)
        if sequence == mark + 1 {
            advanceMark()
        } else {
            handledAboveMark += 1
        }
        return urgency
    }

    /// How soon to acknowledge what is handled.
    package var urgency: Urgency {
        if unannouncedEvents == 0 { return .none }
        // Events that did not fit into the ranges can be named only once older events are handled, so they do not count
        // here.
        let isMuch =
            (unannouncedEvents - unsaidEvents) * 4 >= windowEvents
            || (unannouncedBytes - unsaidBytes) * 4 >= windowBytes
        return isMuch ? .now : .soon
    }

    /// Whether it would be time to acknowledge at once if all that has arrived were handled.
    package var mayBecomeUrgent: Bool { openEvents * 4 >= windowEvents || openBytes * 4 >= windowBytes }

    private mutating func advanceMark() {
        var next = mark + 1
        mark = next
        next += 1
        while next <= lastReceived, slots[slotIndex(next)].isHandled {
            handledAboveMark -= 1
            mark = next
            next += 1
        }
    }

    package var hasUnannounced: Bool { unannouncedEvents > 0 }

    /// Whether any batch may carry an acknowledgement; false while handled events lie above an unhandled one, because
    /// the search for their ranges reads the whole window.
    package var mayRide: Bool { unannouncedEvents > 0 && handledAboveMark == 0 }

    /// Takes the acknowledgement of what is handled, as far as its ranges have room; nil if it would say nothing new.
    ///
    /// - Parameters:
    ///   - after: the event of this side that must arrive before the acknowledgement counts; 0 for none.
    ///   - isRepeated: whether an acknowledgement is returned even if it says nothing new.
    package mutating func takeAcknowledgement(after: UInt64, isRepeated: Bool = false) -> Acknowledgement? {
        guard unannouncedEvents > 0 || isRepeated else { return nil }
        var ranges: [ClosedRange<UntrustedNumber>] = []
        var behind = mark
        if handledAboveMark > 0 { (ranges, behind) = takeRanges() }
        // Handled events beyond the ranges that fit stay unannounced.
        var left = 0
        var leftBytes = 0
        if ranges.count == Acknowledgement.maximumRanges, behind <= lastReceived {
            for sequence in behind...lastReceived {
                let slot = slots[slotIndex(sequence)]
                if slot.isHandled, !slot.isAnnounced {
                    left += 1
                    leftBytes += Int(slot.charge)
                }
            }
        }
        unsaidEvents = left
        unsaidBytes = leftBytes
        // If all 64 ranges were announced before, what is new lies after them, and waits at least until an older event
        // is handled.
        if left == unannouncedEvents, mark == announcedMark, !isRepeated { return nil }
        openEvents -= unannouncedEvents - left
        openBytes -= unannouncedBytes - leftBytes
        unannouncedEvents = left
        unannouncedBytes = leftBytes
        announcedMark = mark
        return Acknowledgement(mark: mark, ranges: ranges, after: after, unwanted: unwantedEvents)
    }

    /// - Returns: The ranges that fit, and the first sequence that was not searched.
    private mutating func takeRanges() -> (ranges: [ClosedRange<UntrustedNumber>], behind: UInt64) {
        var ranges: [ClosedRange<UntrustedNumber>] = []
        var sequence = mark + 2
        while sequence <= lastReceived, ranges.count < Acknowledgement.maximumRanges {
            guard slots[slotIndex(sequence)].isHandled else {
                sequence += 1
                continue
            }
            let first = sequence
            while sequence <= lastReceived, slots[slotIndex(sequence)].isHandled {
                slots[slotIndex(sequence)].isAnnounced = true
                sequence += 1
            }
            ranges.append(UntrustedNumber(first)...UntrustedNumber(sequence - 1))
        }
        return (ranges, sequence)
    }
}
