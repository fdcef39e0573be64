/// What a decoder or encoder accepts before it refuses: both bounds keep hostile or runaway input from using up
/// the stack or the memory of the process.
package struct CBORLimits: Sendable, Hashable {
    /// How many arrays, maps and tags may lie inside each other.
    package var maximumDepth: Int

    /// How many data items one decoded value may hold in all, keys included.
    package var maximumItems: Int

    package init(maximumDepth: Int = 64, maximumItems: Int = 1 << 24) {
        // 512 is the most that any limit in this project may be set to; it also bounds the frame stacks below.
        self.maximumDepth = min(max(maximumDepth, 1), 512)
        self.maximumItems = max(maximumItems, 1)
    }

    package static let standard = CBORLimits()
}
