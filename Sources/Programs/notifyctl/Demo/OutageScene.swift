import NotifyClient
import NotifyJSON

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

    init(_ title: String, topic: String, on names: [String]) {
        self.title = title
        self.topic = topic
        places = names.map { Place(name: $0) }
    }

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
        func time(_ duration: Duration?) -> JSON { duration.map { .microseconds($0) } ?? .null }
        return .object([
            ("title", .string(title)), ("topic", .string(topic)), ("events", .integer(Int64(events))),
            ("outage", .microseconds(returned)),
            (
                "devices",
                .array(
                    places.map { place in
                        .object([
                            ("name", .string(place.name)), ("published", .integer(Int64(place.published.count))),
                            ("longest-wait", .microseconds(place.longestWait)), ("connected", time(place.connected)),
                            ("complete", time(place.complete)), ("missing", .integer(Int64(place.missing))),
                            ("doubled", .integer(Int64(place.doubled))),
                        ])
                    })
            ),
            ("flaws", .array(flaws.map(JSON.string))),
        ])
    }
}
