/// What a decoder or encoder accepts before it refuses.
///
/// Both bounds keep hostile or runaway input from using up the stack or the memory of the process.
package struct CBORLimits: Sendable, Hashable {
    /// How many arrays, maps and tags may lie inside each other.
    package var maximumDepth: Int

    /// How many data items one decoded value may hold in all, keys included.
    package var maximumItems: Int

    /// The greatest depth that a limit can allow.
    ///
    /// A value with so many levels can be read, compared, written and freed on the 512 KiB of stack that some threads
    /// have, even in a debug build.
    package static let greatestDepth = 128

    package init(maximumDepth: Int = 64, maximumItems: Int = 1 << 24) {
        self.maximumDepth = min(max(maximumDepth, 1), CBORLimits.greatestDepth)
        self.maximumItems = max(maximumItems, 1)
    }

    package static let standard = CBORLimits()
}
