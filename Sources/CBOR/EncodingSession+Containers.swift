/// The standard library's containers for maps.
extension EncodingSession {
    func container<Key: CodingKey>(keyedBy key: Key.Type, at level: EncodingLevel) -> KeyedEncodingContainer<Key> {
        if let kept {
            let slot = kept.freeSlot(for: ObjectIdentifier(key))
            if slot >= 0 {
                slotLevels[slot] = level
                return kept.container(in: slot, loader: ContainerLoader<KeyedEncodingContainer<Key>>.self)
            }
        }
        return newContainer(keyedBy: key, at: level)
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(
        keyedBy key: Key.Type,
        at level: EncodingLevel
    ) -> KeyedEncodingContainer<Key> {
        if let kept, mayKeepContainers {
            let slot = kept.vacantSlot(for: ObjectIdentifier(key))
            if slot >= 0 {
                let writer = KeyedWriter<Key>(place: EncodingPlace(session: self, slot: slot))
                let container = KeyedEncodingContainer(writer)
                kept.keep(container, for: ObjectIdentifier(key), in: slot)
                slotLevels[slot] = level
                return container
            }
        }
        return KeyedEncodingContainer(KeyedWriter<Key>(place: EncodingPlace(session: self, level: level)))
    }

    private var mayKeepContainers: Bool {
        if containersToPassUp == 0 { return EncodingSession.canKeepContainers }
        containersToPassUp -= 1
        return false
    }

    private static let canKeepContainers: Bool = {
        let place = EncodingPlace(session: EncodingSession(limits: .standard), level: .closed)
        return KeptContainers.isReference(KeyedEncodingContainer(KeyedWriter<PathKey>(place: place)))
    }()
}
