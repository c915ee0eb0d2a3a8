import NotifyClient
import NotifyText

/// The result of one event on all devices. All times count from the call of the publisher.
struct LinkScene: PlayedScene {
    /// What happened on one device.
    struct Place {
        let name: String
        var acknowledged: Duration?
        var heard: Duration?
        var claimed: (time: Duration, verdict: Verdict)?
        /// When the user closed the banner.
        var closed: Duration?
        var decided: (time: Duration, kind: Outcome.Kind)?
        var banner: Duration?
        var takenDown: Duration?
    }

    let title: String
    let topic: String
    let window: Duration
    /// What must have become of it on every device.
    let wanted: Outcome.Kind
    var start = ContinuousClock.now
    var places: [Place]
    /// How long the absence of banners was checked, if there must be none.
    var watched: Duration?

    /// Whether a claim that must be in time was sent too late.
    var wasTooSlow: Bool { watched != nil && places.contains { ($0.claimed?.time ?? .zero) > window / 2 } }

    var flaws: [String] {
        places.flatMap { place in
            var flaws: [String] = []
            if watched != nil, let banner = place.banner {
                flaws.append("there was a banner on the \(place.name), after \(banner.displayText)")
            }
            if watched == nil {
                if place.banner == nil { flaws.append("there was no banner on the \(place.name)") }
                if place.takenDown == nil { flaws.append("the banner on the \(place.name) was not taken down") }
            }
            if let kind = place.decided?.kind, kind != wanted {
                flaws.append("on the \(place.name) it is \(kind), not \(wanted)")
            }
            return flaws
        }
    }

    var timeline: Timeline {
        Timeline(lanes: places.map(lane), scale: .showing((places.compactMap(\.takenDown).max() ?? .zero) + window / 4))
    }

    private func lane(_ place: Place) -> Timeline.Lane {
        var lane = Timeline.Lane(actor: place.name)
        let begin = place.acknowledged == nil ? place.heard ?? .zero : .zero
        let end = place.banner ?? place.decided?.time ?? begin
        lane.spans = [(begin, end, "=")]
        lane.marks = [(end, "]")]
        if let banner = place.banner, let takenDown = place.takenDown {
            lane.spans.append((banner, takenDown, "#"))
            lane.marks += [(banner, "B"), (takenDown, "x")]
        } else if place.claimed == nil, place.banner == nil, let decided = place.decided {
            lane.marks.append((decided.time, "c"))
        }
        lane.marks.append((begin, place.acknowledged == nil ? "h" : "P"))
        if let claimed = place.claimed { lane.marks.append((claimed.time, "C")) }
        lane.note = note(place)
        return lane
    }

    private func note(_ place: Place) -> String {
        var words: [String] = []
        if let acknowledged = place.acknowledged {
            words.append("\(topic), acknowledged after \(acknowledged.displayText)")
        } else if let heard = place.heard {
            words.append("hears it after \(heard.displayText)")
        }
        if let banner = place.banner { words.append("banner after \(banner.displayText)") }
        if let claimed = place.claimed { words.append("claims at \(claimed.time.displayText): \(claimed.verdict)") }
        if let closed = place.closed {
            words.append("closed by the user at \(closed.displayText)")
        } else if let takenDown = place.takenDown {
            words.append("taken down at \(takenDown.displayText)")
        } else if place.claimed == nil, let decided = place.decided {
            words.append("claimed here at \(decided.time.displayText)")
        }
        if let watched, place.banner == nil { words.append("no banner (watched for \(watched.shortText))") }
        return words.joined(separator: ", ")
    }

    var json: JSON {
        [
            "title": title, "topic": topic,
            "devices": places.map { place -> JSON in
                [
                    "name": place.name, "acknowledged": place.acknowledged, "heard": place.heard,
                    "claimed": place.claimed?.time, "closed": place.closed, "outcome": place.decided?.kind,
                    "banner": place.banner, "taken-down": place.takenDown,
                ]
            },
            "flaws": flaws,
        ]
    }
}

/// The result of an outage of the broker. All times count from its begin.
struct OutageScene: PlayedScene {
    /// What happened on one device.
    struct Place {
        let name: String
        /// When each event was published here, while the broker was away.
        var published: [Duration] = []
        /// The longest that a publisher waited.
        var longestWait = Duration.zero
        /// When its bridge was connected again.
        var connected: Duration?
        /// When everything was there that was published on all devices.
        var complete: Duration?
        var missing = 0
        var doubled = 0
    }

    let title: String
    let topic: String
    /// How many events were published on all devices.
    var events = 0
    var places: [Place]
    /// When the broker was there again.
    var returned = Duration.zero

    var flaws: [String] {
        places.flatMap { place in
            var flaws: [String] = []
            if place.missing > 0 {
                flaws.append("\(place.missing) of \(events) events are missing on the \(place.name)")
            }
            if place.doubled > 0 { flaws.append("\(place.doubled) events are twice on the \(place.name)") }
            return flaws
        }
    }

    var timeline: Timeline {
        let end = (places.compactMap(\.complete) + [returned]).max() ?? .zero
        var broker = Timeline.Lane(actor: "broker", marks: [(.zero, "X"), (returned, "^")])
        broker.spans = [(returned, Timeline.Scale.showing(end).column * Timeline.columns, "=")]
        broker.note = "killed, and started again after \(returned.displayText)"
        return Timeline(lanes: [broker] + places.map(lane), scale: .showing(end))
    }

    private func lane(_ place: Place) -> Timeline.Lane {
        var lane = Timeline.Lane(actor: place.name)
        lane.marks = place.published.map { ($0, "P") }
        lane.note = "publishes \(place.published.count), acknowledged within \(place.longestWait.displayText)"
        if let connected = place.connected {
            lane.marks.append((connected, "o"))
            lane.note += "; connected at \(connected.displayText)"
        }
        if let complete = place.complete {
            lane.spans = [(complete, timelineEnd, "=")]
            lane.marks.append((complete, "A"))
            lane.note += ", has all \(events) at \(complete.displayText)"
        }
        return lane
    }

    private var timelineEnd: Duration { .seconds(86400) }

    var json: JSON {
        [
            "title": title, "topic": topic, "events": events, "outage": returned,
            "devices": places.map { place -> JSON in
                [
                    "name": place.name, "published": place.published.count, "longest-wait": place.longestWait,
                    "connected": place.connected, "complete": place.complete, "missing": place.missing,
                    "doubled": place.doubled,
                ]
            },
            "flaws": flaws,
        ]
    }
}
