import BridgePlatform

/// A reading that goes on behind bytes that the disk cannot read.
extension JournalFile {
    /// How many bytes one step of the reading takes at most: the system reads whole pages.
    private static var blockBytes: Int { 4_096 }

    /// Stands in the place of each byte that the disk cannot read.
    ///
    /// No record begins with such bytes. Unlike zeros, they are not taken for room that is not used yet.
    private static var unreadByte: UInt8 { 0xFF }

    /// Copies what lies at `offset`, and puts 0xFF in the place of bytes that the disk cannot read.
    ///
    /// - Returns: How many bytes there are; if fewer than asked for, the file has no more.
    /// - Throws: ``SystemError`` if the reading failed for another reason.
    func readPastUnreadable(
        at offset: Int,
        into target: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        do throws(SystemError) {
            return try read(at: offset, into: target)
        } catch {
            guard error.isUnreadable else { throw error }
        }
        var done = 0
        while done < target.count {
            let place = offset + done
            let wanted = min(Self.blockBytes - place % Self.blockBytes, target.count - done)
            let block = UnsafeMutableRawBufferPointer(rebasing: target[done..<(done + wanted)])
            do throws(SystemError) {
                let count = try read(at: place, into: block)
                done += count
                if count < wanted { break }
            } catch {
                guard error.isUnreadable else { throw error }
                block.initializeMemory(as: UInt8.self, repeating: Self.unreadByte)
                done += wanted
            }
        }
        return done
    }
}
