/// Claims of whole topics: what is there now, and for a moment what comes.
extension Router {
    /// A topic claim that goes on for a moment after the call.
    struct Grace {
        let topic: TopicPrefix
        let claimant: String
    }

    /// Numbers graces in the order in which they were given.
    struct GraceID: Hashable, Comparable {
        let rawValue: UInt64

        static func < (left: GraceID, right: GraceID) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    mutating func claimTopic(_ topic: TopicPrefix, grace: Duration, by claimant: String, at now: Now) {
        guard grace <= limits.maximumGrace else {
            return refuse(
                .limitExceeded("the grace is \(grace.text); it is at most \(limits.maximumGrace.text), in milliseconds")
            )
        }
        guard grace == .zero || graces.count < limits.graces else {
            return refuse(
                .limitExceeded("topic claims with a grace: \(limits.graces) are running; try again in a moment"))
        }
        guard grace == .zero || gracesByClaimant[claimant, default: 0] < limits.gracesPerConnection else {
            return refuse(
                .limitExceeded(
                    "topic claims with a grace of one connection: \(limits.gracesPerConnection) of yours are running; "
                        + "try again in a moment"))
        }
        let found = claimable(atOrBelow: topic)
        effects.append(.reply(.count(found.count)))
        takeAll(found, by: claimant, as: .topic, at: now)
        effects.append(.markRead(topic, upTo: lastID, by: claimant, as: .topic))
        if grace > .zero { begin(Grace(topic: topic, claimant: claimant), until: now.instant + grace) }
        sendBanners(at: now)
    }

    /// Who claims an event with this topic on arrival, if anybody does: a screen, or a topic claim that is still going on.
    func standingClaim(on topic: Topic) -> (claimant: String, form: ClaimForm)? {
        if let screen = screens.claimant(of: topic) { return (screen.owner, .screen) }
        guard let id = graceIndex.first(covering: topic), let grace = graces[id] else { return nil }
        return (grace.claimant, .topic)
    }

    mutating func graceEnded(_ id: GraceID) {
        guard let grace = graces.removeValue(forKey: id) else { return }
        graceIndex.remove(id, at: grace.topic)
        let count = gracesByClaimant[grace.claimant]!
        gracesByClaimant[grace.claimant] = count > 1 ? count - 1 : nil
    }

    /// The events at or below a topic that a claim would still change, oldest first.
    func claimable(atOrBelow topic: TopicPrefix) -> [EventID] {
        events.values.filter { topic.covers($0.event.topic) }.map(\.event.id).sorted()
    }

    private mutating func begin(_ grace: Grace, until moment: Instant) {
        lastSerial += 1
        let id = GraceID(rawValue: lastSerial)
        graces[id] = grace
        graceIndex.insert(id, at: grace.topic)
        gracesByClaimant[grace.claimant, default: 0] += 1
        _ = agenda.put(.grace(id), at: moment)
    }
}
