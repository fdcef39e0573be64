package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// Interest: the names that each peer asks for, and the names that the router asks of that peer for other peers and
/// this process.
extension EventRouter: InterestObserver {
    package var isBridge: Bool { true }

    func withPeers(_ body: (inout [Peer]) -> Void) {
        lock.withLock { body(&peers) }
    }

    /// Adds a peer; from now on, events in its specification are kept for it.
    package func add(_ peer: Peer) { exchange(adding: [peer]) }

    /// The peer of this name; nil if no peer has it.
    func peer(to name: String) -> Peer? { lock.withLock { peers.first { $0.peerName == name } } }

    /// Whether events of this name are reports of the bridge about itself.
    func isSelfReport(_ name: String) -> Bool { lock.withLock { selfReports.contains(EventName(name)) } }

    /// Tells the peer over its new link which names the router asks of it, and from now on tells it every change.
    ///
    /// - Parameter keepsWishes: whether the peer's earlier wishes count until it sends new ones.
    package func announceInterest(to peer: Peer, over link: Link, keepsWishes: Bool = false) {
        lock.withLock {
            let told = LinkInterest(link)
            if keepsWishes, let wishes = peer.interest.present?.asked { told.asked = wishes }
            peer.interest.begins(told, ofSuccessor: peer.isSuccessor(link))
            var interest = Interest()
            for name in watchedNames.map(\.text).sorted() { _ = named(name) }
            if wantsEverything {
                interest.wanted.append(Interest.Name(number: 0, name: EventName.everything.text))
            }
            for named in names.all where wish(for: named).isFor(peer) {
                told.announced.insert(named.number)
                interest.wanted.append(Interest.Name(number: named.number, name: named.name))
            }
            // An empty interest is sent too: a worker runs none of its own code before it knows what the host wants.
            link.queue(.interest(interest))
        }
        updateTargets()
        link.pump()
    }

    /// Takes a peer's wishes; ignores the wishes of a process that another process replaces.
    ///
    /// - Parameter replacesWishes: whether these wishes replace all earlier ones.
    package func interestReceived(
        _ interest: Interest,
        from peer: Peer,
        over link: Link,
        replacesWishes: Bool = false
    ) throws {
        // Nil for all names: `*` is among the changes, or all earlier wishes are replaced, whatever they were.
        var changed: [Topic]? = replacesWishes ? nil : []
        let isPresent = try lock.withLock {
            guard let told = peer.interest.told(over: link) else { return false }
            if replacesWishes { told.asked = [] }
            for number in interest.unwanted {
                guard let name = link.peerInterestName(of: number) else { continue }
                told.asked.remove(EventName(name))
                if name == EventName.everything.text {
                    changed = nil
                } else if let topic = names.known(name) {
                    changed?.append(topic)
                }
            }
            for wanted in interest.wanted {
                told.asked.insert(EventName(wanted.name))
                if wanted.name == EventName.everything.text {
                    changed = nil
                } else if let topic = try names.topic(of: wanted.name, broughtBy: peer) {
                    changed?.append(topic)
                }
            }
            return told === peer.interest.present
        }
        if isPresent { updateTargets(of: changed ?? names.all, changedBy: peer) }
    }

    /// Forgets what a peer asked for beyond its specification: the peer is down, or is being removed, and its next
    /// process, if there is one, asks anew.
    package func forgetInterest(of peer: Peer) {
        let hadAny = lock.withLock {
            defer { peer.interest.present?.asked = [] }
            return peer.interest.present?.asked.isEmpty == false
        }
        if hadAny { updateTargets(changedBy: peer) }
    }

    /// Those of `names` that the peer has not asked for; empty if it has asked for all of them.
    package func missingInterest(of peer: Peer, in names: [String], over link: Link) -> [String] {
        lock.withLock {
            let asked = peer.interest.told(over: link)?.asked ?? []
            return asked.contains(EventName.everything) ? [] : names.filter { !asked.contains(EventName($0)) }
        }
    }

    /// Works out all targets anew, and tells the publisher and the peers of the changes.
    func updateTargets() {
        updateTargets(of: names.all)
    }

    /// Works out the targets anew after a change of only this peer's wishes; with many peers this is much quicker than
    /// ``updateTargets()``.
    private func updateTargets(changedBy peer: Peer) {
        updateTargets(of: names.all, changedBy: peer)
    }

    func updateTargets(of topics: [Topic], changedBy changed: Peer? = nil) {
        tell(lock.withLock { changeTargets(of: topics, changedBy: changed) })
    }

    /// Works out the targets of these topics; called under `lock`.
    ///
    /// - Parameter changed: the only peer whose wishes have changed; nil if other peers' wishes may have changed too.
    func changeTargets(of topics: [Topic], changedBy changed: Peer?) -> TargetChanges {
        var changes = TargetChanges()
        guard !isStopped else { return changes }
        for topic in topics {
            let isSelfReport = selfReports.contains(EventName(topic.name))
            let known = topic.hasTargets ? topic.fanout : nil
            let targets = peers.filter {
                if let known, let changed, $0 !== changed { return known.goes(to: $0) }
                return $0.wants(topic.name, isSelfReport: isSelfReport) && topic.scope.reaches($0)
            }
            let fanout = topic.setTargets(targets, among: peers, isSelfReport: isSelfReport, reports: reports)
            let isForwarded = !targets.isEmpty || isTapped(topic.name)
            changes.unused += publisher.setForwarding(
                of: topic.name,
                by: self,
                to: isForwarded ? TopicForwarder(topic, to: fanout, of: self) : nil
            )
        }
        if let topic = topics.first(where: \.isTrace) { updateTrace(topic) }
        changes.touched = updateInterest(in: topics)
        return changes
    }

    /// What is left of a change of targets for when `lock` is free.
    struct TargetChanges {
        /// The links in which changes were queued.
        var touched: [Link] = []
        /// To be released: they may be the last to hold a removed handler.
        var unused: [AnyObject] = []
    }

    /// Tells the publisher and the trace of changed targets, and lets the links write what was queued for them.
    func tell(_ changes: TargetChanges) {
        publisher.forwardingWasSet()
        trace.startTimer()
        for link in changes.touched { link.pump() }
    }

    private func isTapped(_ name: String) -> Bool {
        tap != nil && tapsUnwanted && !selfReports.contains(EventName(name))
    }

    /// Queues the changes for each peer, and returns the links in which some were queued; called under `lock`.
    private func updateInterest(in topics: [Topic]) -> [Link] {
        var touched: [Link] = []
        // The wishes are looked up once for all peers.
        let wishes = topics.map(wish(for:))
        for peer in peers {
            // Changes go only to a link that has got the whole interest.
            for told in peer.interest.all {
                guard !told.link.hasEnded, let interest = change(of: wishes, for: peer, told) else {
                    continue
                }
                told.link.queue(changes: interest)
                touched.append(told.link)
            }
        }
        return touched
    }

    /// The changes since the peer was last told what is asked of it; nil if there are none.
    private func change(of wishes: [Wish], for peer: Peer, _ told: LinkInterest) -> Interest? {
        var interest = Interest()
        for wish in wishes {
            let topic = wish.topic
            let isAnnounced = told.announced.contains(topic.number)
            let isWanted = wish.isFor(peer)
            if isWanted, !isAnnounced {
                told.announced.insert(topic.number)
                interest.wanted.append(Interest.Name(number: topic.number, name: topic.name))
            } else if !isWanted, isAnnounced {
                told.announced.remove(topic.number)
                interest.unwanted.append(topic.number)
            }
        }
        return interest.wanted.isEmpty && interest.unwanted.isEmpty ? nil : interest
    }

    /// The wishes of this process and of the peers for the events of one name.
    private struct Wish {
        let topic: Topic
        let isWantedHere: Bool
        let fanout: Fanout

        /// Whether the router asks this peer for the events, because this process or another peer wants them.
        ///
        /// The peer's own wish does not count: a peer gets no echo of its events.
        func isFor(_ peer: Peer) -> Bool {
            topic.scope != .local && (isWantedHere || fanout.isWanted(otherThan: peer))
        }
    }

    private func wish(for topic: Topic) -> Wish {
        let isWantedHere = watchedNames.contains(EventName(topic.name)) || publisher.isWanted(topic.name)
        return Wish(topic: topic, isWantedHere: isWantedHere, fanout: topic.fanout)
    }

    package func interestMayHaveChanged(in name: String) {
        guard let topic = named(name) else { return }
        if let channel = publisher.channel(named: name), channel.hasSubscribers {
            topic.setReceiver(for: channel, publisher: publisher)
        }
        let touched = lock.withLock {
            if topic.isTrace { updateTrace(topic) }
            return updateInterest(in: [topic])
        }
        trace.startTimer()
        for link in touched { link.pump() }
    }

    package func channelWasMade(_ channel: AnyEventChannel) {
        if channel.eventType._isSelfReport {
            lock.withLock {
                selfReports.insert(EventName(channel.name))
                for peer in peers where peer.isLeaving { peer.leave(but: selfReports) }
            }
        }
        guard let topic = named(channel.name) else { return refuseToForward(channel.name) }
        if channel.hasSubscribers { topic.setReceiver(for: channel, publisher: publisher) }
        updateTargets(of: [topic])
    }

    // MARK: - Names beyond the last number

    /// Has the peers that want the events of a name without a number learn of each event that they miss.
    private func refuseToForward(_ name: String) {
        let unused: [AnyObject] = lock.withLock {
            guard !isStopped else { return [] }
            numberless.insert(EventName(name))
            return publisher.setForwarding(of: name, by: self, to: NumberlessForwarder(name, of: self))
        }
        withExtendedLifetime(unused) {}
    }

    /// The peers that would get the events of a name, if it had a number.
    func peersWanting(_ name: String) -> [Peer] {
        let scope = control.scope(of: EventName(name))
        return lock.withLock {
            let isSelfReport = selfReports.contains(EventName(name))
            return peers.filter { $0.wants(name, isSelfReport: isSelfReport) && scope.reaches($0) }
        }
    }
}
