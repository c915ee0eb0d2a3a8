import NotifyClient
import NotifyJSON

/// The result of one scene. All times count from the call of the publisher.
struct Scene: PlayedScene {
    let title: String
    let topic: String
    let window: Duration
    /// When the publisher made its call.
    var start = ContinuousClock.now
    var acknowledged = Duration.zero
    var heard: Duration?
    var claimed: (time: Duration, verdict: Verdict)?
    var outcome: (time: Duration, outcome: Outcome)?
    var banner: (time: Duration, text: String)?
    var takenDown: Duration?
    /// How long the absence of a banner was checked, if there must be none.
    var watched: Duration?
    /// The note for the screen if it claims nothing.
    var audience = "no screen shows it"

    init(_ title: String, topic: String, window: Duration) {
        self.title = title
        self.topic = topic
        self.window = window
    }

    /// Whether a claim that must be in time was sent too late.
    var wasTooSlow: Bool { watched != nil && (claimed?.time ?? .zero) > window / 2 }

    var flaws: [String] {
        var flaws: [String] = []
        if watched != nil, let banner { flaws.append("there was a banner, after \(banner.time.displayText)") }
        if watched == nil, banner == nil { flaws.append("there was no banner") }
        if let banner, banner.time < window { flaws.append("the banner came before the window's end") }
        if let claimed {
            let wanted: Verdict = banner == nil ? .suppressed : .retracted
            if claimed.verdict != wanted { flaws.append("the verdict was \(claimed.verdict), not \(wanted)") }
        }
        return flaws
    }

    var timeline: Timeline { Timeline(lanes: [publisherLane, screenLane, windowLane, bannerLane]) }

    private var publisherLane: Timeline.Lane {
        Timeline.Lane(
            actor: "publisher", marks: [(.zero, "P")],
            note: "\(topic), acknowledged after \(acknowledged.displayText)")
    }

    private var screenLane: Timeline.Lane {
        var lane = Timeline.Lane(actor: "screen", note: audience)
        if let heard {
            lane.marks.append((heard, "h"))
            lane.note = "hears it after \(heard.displayText)"
        }
        if let claimed {
            lane.marks.append((claimed.time, "C"))
            let start = heard == nil ? "opens the post, " : lane.note + ", "
            lane.note = start + "claims at \(claimed.time.displayText): \(claimed.verdict)"
        }
        return lane
    }

    private var windowLane: Timeline.Lane {
        let end = banner?.time ?? outcome?.time ?? window
        var lane = Timeline.Lane(
            actor: "window", spans: [(.zero, end, "=")], marks: [(.zero, "["), (end, "]")])
        if banner == nil, claimed != nil {
            lane.note = "closed by the claim; it would have been open for \(window.shortText)"
        } else if let lateness = outcome?.outcome.lateness {
            lane.note = "\(window.shortText), ended by its timer \(lateness.displayText) late"
        } else {
            lane.note = "\(window.shortText), ended by its timer"
        }
        return lane
    }

    private var bannerLane: Timeline.Lane {
        var lane = Timeline.Lane(actor: "banner")
        guard let banner else {
            lane.note = "none" + (watched.map { " (watched for \($0.shortText))" } ?? "")
            return lane
        }
        let end = takenDown ?? Timeline.column * Timeline.columns
        lane.spans = [(banner.time, end, "#")]
        lane.marks = [(banner.time, "B")]
        lane.note = "“\(Terminal.plain(banner.text))” after \(banner.time.displayText)"
        if let takenDown {
            lane.marks.append((takenDown, "x"))
            lane.note += ", taken down at \(takenDown.displayText)"
        }
        return lane
    }

    var json: JSON {
        func time(_ duration: Duration?) -> JSON { duration.map { .microseconds($0) } ?? .null }
        return .object([
            ("title", .string(title)), ("topic", .string(topic)), ("acknowledged", time(acknowledged)),
            ("heard", time(heard)), ("claimed", time(claimed?.time)),
            ("verdict", claimed.map { .string($0.verdict.rawValue) } ?? .null),
            ("outcome", outcome.map { .string($0.outcome.kind.rawValue) } ?? .null),
            ("banner", time(banner?.time)), ("taken-down", time(takenDown)),
            ("flaws", .array(flaws.map(JSON.string))),
        ])
    }
}
