import JournalFormat

extension JournalCursor {
    /// A segment that is being read.
    struct Current {
        let number: UInt64
        let file: any JournalFile
        let segmentBytes: Int
        private(set) var walk: SegmentWalk
        /// The part of the file that the cursor's window holds.
        var window = 0..<0
        /// The walk as it was after the last step that was handed out.
        private var told: SegmentWalk
        private var suspicion: Suspicion?

        /// What may be damage or a write that is still going on: it is damage if a second reading finds the same.
        enum Suspicion: Equatable {
            case damage(SegmentDamage)
            case end(SegmentEnd, byteCount: Int)
        }

        init(_ head: SegmentHead, _ file: any JournalFile) {
            number = head.number
            self.file = file
            segmentBytes = head.segmentBytes
            walk = SegmentWalk(of: head)
            told = walk
        }

        mutating func next(in bytes: UnsafeRawBufferPointer, limit: Int) -> SegmentWalk.Step {
            walk.next(in: bytes, limit: limit)
        }

        /// The reason of a gap for damage that begins where the walk is.
        func damage(ofBytes byteCount: Int) -> JournalGap.Reason {
            .damaged(file: SegmentCatalog.fileName(of: number), offset: walk.offset, byteCount: byteCount)
        }

        mutating func wasTold() {
            told = walk
            suspicion = nil
        }

        /// Goes back to the last step that was handed out, to read the file from there once more.
        mutating func goBack() {
            walk = told
            window = 0..<0
        }

        /// Goes back for another reading, unless the previous reading found the same.
        ///
        /// A reading of a file that is being written may mix bytes of different moments.
        ///
        /// - Returns: Whether the walk went back.
        mutating func doubts(_ found: Suspicion) -> Bool {
            if suspicion == found { return false }
            suspicion = found
            goBack()
            return true
        }
    }
}
