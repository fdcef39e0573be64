package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// Interest: the names that each peer asks for, and the names that the router asks of it for other peers and this
/// process.
extension EventRouter: InterestObserver {
    package var isBridge: Bool { true }

    func withRoutes(_ body: (inout [Route]) -> Void) {
        lock.withLock { body(&routes) }
    }

    /// Adds a peer; from now on, events in its specification are kept for it.
    package func add(_ route: Route) { exchange(adding: [route]) }

    /// The route to the peer of this name.
    func route(to name: String) -> Route? { lock.withLock { routes.first { $0.peerName == name } } }

    /// Whether events of this name are reports of the bridge about itself.
    func isSelfReport(_ name: String) -> Bool { lock.withLock { selfReports.contains(EventName(name)) } }

    /// Tells the peer of a new link which names are wanted of it; from now on the peer learns of every change.
    ///
    /// - Parameter keepsWishes: whether the peer's earlier wishes count until it sends new ones.
    package func announceInterest(to route: Route, over link: Link, keepsWishes: Bool = false) {
        lock.withLock {
            let told = LinkInterest(link)
            if keepsWishes, let wishes = route.interest.present?.asked { told.asked = wishes }
            route.interest.begins(told, ofSuccessor: route.isSuccessor(link))
            var interest = Interest()
            for name in watchedNames.map(\.text).sorted() { _ = named(name) }
            if wantsEverything {
                interest.wanted.append(Interest.Name(number: 0, name: EventName.everything.text))
            }
            for named in names.all where wish(for: named).isFor(route) {
                told.announced.insert(named.number)
                interest.wanted.append(Interest.Name(number: named.number, name: named.name))
            }
            // Even if it is empty: a worker runs none of its own code before it knows what the host wants.
            link.queue(.interest(interest))
        }
        updateTargets()
        link.pump()
    }

    /// Takes over a peer's wishes; ignores those of a process that makes room for another.
    ///
    /// - Parameter replacesWishes: whether these wishes replace all earlier ones.
    package func interestReceived(
        _ interest: Interest,
        from route: Route,
        over link: Link,
        replacesWishes: Bool = false
    ) throws {
        let isPresent = try lock.withLock {
            guard let told = route.interest.told(over: link) else { return false }
            if replacesWishes { told.asked = [] }
            for number in interest.unwanted {
                if let name = link.peerInterestName(of: number) { told.asked.remove(EventName(name)) }
            }
            for wanted in interest.wanted {
                told.asked.insert(EventName(wanted.name))
                if wanted.name != EventName.everything.text { _ = try names.entry(of: wanted.name, broughtBy: route) }
            }
            return told === route.interest.present
        }
        guard isPresent else { return }
        if replacesWishes || interest.wanted.contains(where: { $0.name == EventName.everything.text })
            || interest.wanted.count > 1 || !interest.unwanted.isEmpty
        {
            updateTargets(changedBy: route)
        } else if let name = interest.wanted.first?.name, let entry = named(name) {
            updateTargets(of: [entry])
        }
    }

    /// Forgets all that a peer asked for beyond its specification: it is down until an event of its specification
    /// comes.
    package func forgetInterest(of route: Route) {
        let hadAny = lock.withLock {
            defer { route.interest.present?.asked = [] }
            return route.interest.present?.asked.isEmpty == false
        }
        if hadAny { updateTargets(changedBy: route) }
    }

    /// The names that the peer has not asked for; empty if it has asked for all of them.
    package func missingInterest(of route: Route, in names: [String], over link: Link) -> [String] {
        lock.withLock {
            let asked = route.interest.told(over: link)?.asked ?? []
            return asked.contains(EventName.everything) ? [] : names.filter { !asked.contains(EventName($0)) }
        }
    }

    /// Works out all targets anew, and tells the publisher and the peers of the changes.
    func updateTargets() {
        updateTargets(of: names.all)
    }

    /// As ``updateTargets()``, where only this peer's wishes have changed: with many peers that is much less work.
    private func updateTargets(changedBy route: Route) {
        updateTargets(of: names.all, changedBy: route)
    }

    func updateTargets(of entries: [NamedEvents], changedBy changed: Route? = nil) {
        let touched: [Link] = lock.withLock {
            guard !isStopped else { return [] }
            for entry in entries {
                let isSelfReport = selfReports.contains(EventName(entry.name))
                let known = entry.hasTargets ? entry.fanout : nil
                let targets = routes.filter {
                    if let known, let changed, $0 !== changed { return known.goes(to: $0) }
                    return $0.wants(entry.name, isSelfReport: isSelfReport) && entry.passage.reaches($0)
                }
                let fanout = entry.setTargets(targets, isSelfReport: isSelfReport, reports: reports)
                let isForwarded = !targets.isEmpty || isTapped(entry.name)
                publisher.setForwarding(
                    of: entry.name,
                    by: self,
                    to: isForwarded ? NamedForwarder(entry, to: fanout, of: self) : nil
                )
            }
            if let entry = entries.first(where: \.isTrace) { updateTrace(entry) }
            return updateInterest(in: entries)
        }
        trace.startTimer()
        for link in touched { link.pump() }
    }

    private func isTapped(_ name: String) -> Bool {
        tap != nil && tapsUnwanted && !selfReports.contains(EventName(name))
    }

    /// Queues the changes for each peer; called under `lock`.
    private func updateInterest(in entries: [NamedEvents]) -> [Link] {
        var touched: [Link] = []
        // Looked up once for all peers.
        let wishes = entries.map(wish(for:))
        for route in routes {
            // A link learns of changes only after it has been told everything.
            for told in route.interest.all {
                guard !told.link.hasEnded, let interest = change(of: wishes, for: route, told) else {
                    continue
                }
                told.link.queue(.interest(interest))
                touched.append(told.link)
            }
        }
        return touched
    }

    /// The changes for a peer since it was last told; nil if there are none.
    private func change(of wishes: [Wish], for route: Route, _ told: LinkInterest) -> Interest? {
        var interest = Interest()
        for wish in wishes {
            let entry = wish.entry
            let isAnnounced = told.announced.contains(entry.number)
            let isWanted = wish.isFor(route)
            if isWanted, !isAnnounced {
                told.announced.insert(entry.number)
                interest.wanted.append(Interest.Name(number: entry.number, name: entry.name))
            } else if !isWanted, isAnnounced {
                told.announced.remove(entry.number)
                interest.unwanted.append(entry.number)
            }
        }
        return interest.wanted.isEmpty && interest.unwanted.isEmpty ? nil : interest
    }

    /// What this process and the peers want of the events of one name.
    private struct Wish {
        let entry: NamedEvents
        let isWantedHere: Bool
        let fanout: NamedEvents.Fanout

        /// Whether it is asked of this peer: this process or another peer wants the events.
        ///
        /// There is no echo: a peer's own wish is not asked of it.
        func isFor(_ route: Route) -> Bool {
            entry.passage != .local && (isWantedHere || fanout.isWanted(otherThan: route))
        }
    }

    private func wish(for entry: NamedEvents) -> Wish {
        let isWantedHere = watchedNames.contains(EventName(entry.name)) || publisher.isWanted(entry.name)
        return Wish(entry: entry, isWantedHere: isWantedHere, fanout: entry.fanout)
    }

    package func interestMayHaveChanged(in name: String) {
        guard let entry = named(name) else { return }
        if let channel = publisher.channel(named: name), channel.hasSubscribers {
            entry.setReceiver(for: channel, publisher: publisher)
        }
        let touched = lock.withLock {
            if entry.isTrace { updateTrace(entry) }
            return updateInterest(in: [entry])
        }
        trace.startTimer()
        for link in touched { link.pump() }
    }

    package func channelWasMade(_ channel: AnyEventChannel) {
        guard let entry = named(channel.name) else { return }
        if channel.eventType is any SelfReport.Type {
            lock.withLock {
                selfReports.insert(EventName(channel.name))
                for route in routes where route.isLeaving { route.leave(but: selfReports) }
            }
        }
        if channel.hasSubscribers { entry.setReceiver(for: channel, publisher: publisher) }
        updateTargets(of: [entry])
    }
}
