/// Nested containers and super encoders: in place as long as they are written in order, otherwise each in a session and
/// a buffer of its own.
extension EncodingSession {
    /// Opens a level inside the container at `parent`, for a nested container or, with `.undecided`, a super encoder;
    /// the caller has already begun the element, or the entry with its key.
    ///
    /// An error is kept: a write to the returned place throws it, or the encoder does when the value has been written.
    private func openChild(of parent: EncodingLevel, as kind: EncodingFrame.Kind) -> EncodingPlace {
        do throws(CBORError) {
            if separatesChildren { return try openSeparateChild(of: parent, as: kind) }
            let level = try push(inside: parent.index, isValue: false)
            if kind != .undecided { try open(level, as: kind) }
            return EncodingPlace(session: self, level: level)
        } catch {
            return closedPlace(because: error)
        }
    }

    func beginChild(as kind: EncodingFrame.Kind, _ key: String, of parent: EncodingLevel) -> EncodingPlace {
        do throws(CBORError) {
            try beginEntry(key, of: parent)
        } catch {
            return closedPlace(because: error)
        }
        return openChild(of: parent, as: kind)
    }

    func beginChild(as kind: EncodingFrame.Kind, of parent: EncodingLevel) -> EncodingPlace {
        do throws(CBORError) {
            try beginElement(of: parent)
        } catch {
            return closedPlace(because: error)
        }
        return openChild(of: parent, as: kind)
    }

    /// A place that refuses every write, for callers that cannot throw.
    @inline(never)
    func closedPlace(because error: CBORError) -> EncodingPlace {
        note(error)
        return EncodingPlace(session: self, level: .closed)
    }

    private func openSeparateChild(
        of parent: EncodingLevel,
        as kind: EncodingFrame.Kind
    ) throws(CBORError) -> EncodingPlace {
        let child = EncodingSession(limits: limits, isChild: true)
        let buffer = CBORBuffer(minimumCapacity: 32)
        child.ownBuffer = buffer
        child.begin(writingInto: buffer, separatingChildren: true)
        child.parentPath = path(through: parent.index)
        let level = try child.push(inside: -1, isValue: false)
        if kind != .undecided { try child.open(level, as: kind) }
        isUnusual = true
        splices.append(Splice(offset: count, child: child))
        return EncodingPlace(session: child, level: level)
    }

    /// Moves the splices inside a container whose content has moved.
    ///
    /// Splices are in the order of their offsets, so these are the last ones; all others are not looked at.
    @inline(never)
    func moveSplices(behind head: Int, by gap: Int) {
        var index = splices.count - 1
        while index >= 0, splices[index].offset > head {
            splices[index].offset += gap
            index -= 1
        }
    }

    /// Appends what the session has written, with the children in their places.
    func assemble(into target: CBORBuffer) throws(CBORError) {
        if let misuse { throw misuse }
        var start = 0
        for splice in splices {
            target.append(UnsafeRawBufferPointer(rebasing: bytes[start..<splice.offset]))
            start = splice.offset
            splice.child.close(downTo: -1)
            try splice.child.assemble(into: target)
        }
        target.append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
}
