import ArgumentParser
import NotifyClient
import NotifyText

struct ShowCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one event with all its fields and its outcome.",
        discussion: """
            Exit code 1 if there is no such event.

            Examples:
              notifyctl show 1795231492321669
              notifyctl show last --json=short | jq .fields
            """)

    @OptionGroup var event: EventOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try await bus.connect(reading: true)
        let explanation = try await event.explanation(client)
        let record = try await record(of: explanation, client)
        let texts = await BannerTexts(client).texts(of: [record])
        write(record, explanation, texts[explanation.id])
    }

    // Swift 6.3 crashes on an optimized build if all of this is one function.
    private func record(of explanation: Explanation, _ client: NotifyClient) async throws -> RecordedEvent {
        let id = explanation.id
        let records = try await client.history(explanation.topic, after: EventID(rawValue: id.rawValue - 1), limit: 1)
        guard let record = records.first, record.event.id == id else { throw ExitCode.nothing }
        return record
    }

    private func write(_ record: RecordedEvent, _ explanation: Explanation, _ banner: BannerText?) {
        output.write(
            .object(record.event.content + (banner?.members ?? []) + explanation.members),
            text: text(of: record, explanation, banner))
    }

    private func text(of record: RecordedEvent, _ explanation: Explanation, _ banner: BannerText?) -> String {
        let event = record.event
        let moment = Timestamp(explanation.published)
        let ago = Terminal.isInteractive ? Cell("  " + moment.text(seenAt: Timestamp.now), .dim) : Cell("")
        let texts = [("Title", event.title), ("Body", event.body), ("Summary", banner?.title), ("Text", banner?.body)]
        let origins = [
            ("Sender", explanation.sender), ("Source", explanation.source), ("Event id", explanation.eventID),
            ("Collapse", explanation.collapse), ("Via", explanation.via),
        ]
        let rows =
            [("Topic", Cell(event.topic, .bold))]
            + texts.compactMap { name, text in text.flatMap { $0.isEmpty ? nil : (name, Cell($0)) } }
            + event.fields.map { ($0.key, Cell($0.value.text)) } + [("Published", Cell(moment.text) + ago)]
            + origins.compactMap { name, text in text.map { (name, Cell($0)) } } + [
                ("Route", Cell(explanation.route)), ("Outcome", explanation.outcome.cell),
                ("Why", Cell(explanation.reason)),
            ]
        // Not cut: this command shows the whole text.
        let lines = Columns.wrapped(rows.map { [Cell($0), $1] }, indentation: "  ", within: Terminal.size?.columns)
        return ([Terminal.bold("Event \(event.id)")] + lines).joined(separator: "\n")
    }
}

extension Explanation {
    /// The explanation without id and topic.
    var members: [(String, JSON)] {
        JSON.present([
            "route": route, "key": key, "published": published, "window": JSON.milliseconds(window),
            "outcome": outcome?.rawValue ?? "", "reason": reason, "claims": claims.map(\.json), "accepted": accepted,
            "opened": opened, "deadline": deadline, "resolved": resolved, "snoozed": snoozed, "banner": banner,
            "count": count, "lateness": lateness, "delay": delay?.rawValue, "action": action,
            "sender": sender, "source": source, "event-id": eventID, "collapse": collapse, "via": via, "device": device,
            "read": JSON.ifTrue(isRead), "replayed": JSON.ifTrue(isReplayed),
            "earlier-boot": JSON.ifTrue(isOfEarlierBoot),
        ])
    }
}

extension Explanation.Claim {
    fileprivate var json: JSON {
        JSON.object(present: [
            "by": by, "after": after?.json ?? JSON.null, "form": form, "verdict": verdict.rawValue,
            "program": program,
        ])
    }
}

struct WhyCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Explain the decision about an event with a drawing.",
        discussion: """
            P published, [==] the window ([==> while it is open), C a claim (c: one that came too late to change a \
            banner), r the end of a hold that was not confirmed, z a snooze, B## a banner, x its end. Times count from \
            publishing; later steps are drawn at the edge. Where notifyd-ntfy sends events to a phone, the last line \
            says whether it sent this one.

            Exit code 1 if there is no such event.

            Examples:
              notifyctl why 1795231492321669
              notifyctl why last
            """)

    @OptionGroup var event: EventOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let explanation = try await event.explanation(try await bus.connect(reading: true))
        let phone = try await bus.withQuery { await PhoneNotice.all(of: explanation, $0) }
        let now = Timestamp.now
        output.write(
            .object(
                [("id", .integer(explanation.id.rawValue)), ("topic", .string(explanation.topic))] + explanation.members
                    + (phone.map { [("phone", .array($0.map(\.json)))] } ?? [])),
            text: (Decision(explanation, now: now).lines(within: Terminal.size?.columns)
                + (phone.map { PhoneNotice.lines($0, at: now) } ?? [])).joined(separator: "\n"))
    }
}

/// Whether the phone was told about an event: what notifyd-ntfy says.
struct PhoneNotice {
    /// The server and the topic there.
    let place: String
    /// `waiting`, `sending`, `sent` or `ended`.
    let state: String
    /// Microseconds since the epoch.
    let at: Int64

    private init?(_ value: Value) {
        guard let members = value.elements, members.count == 3, let place = members[0].string,
            let state = members[1].string, let at: Int64 = members[2].integer()
        else { return nil }
        (self.place, self.state, self.at) = (place, state, at)
    }

    /// - Returns: `nil` if no bridge tells phones.
    static func all(of explanation: Explanation, _ query: BusQuery) async -> [PhoneNotice]? {
        let source = explanation.source ?? ""
        let id = source.isEmpty ? "\(explanation.id)" : explanation.eventID ?? ""
        let answer = try? await query.ask(.ntfy, "Told", [.string(source), .string(id)])
        return answer?.first?.elements?.compactMap(PhoneNotice.init)
    }

    static func lines(_ notices: [PhoneNotice], at now: Int64) -> [String] {
        guard !notices.isEmpty else { return ["  phone: not told"] }
        return notices.map { notice in
            let time = Timestamp(notice.at).clock(seenAt: now)
            let place = Terminal.plain(notice.place)
            let words =
                switch notice.state {
                case "waiting": "\(place) is told at \(time), unless it is claimed before"
                case "sending": "\(place) is being told, since \(time)"
                case "ended": "\(place) was told at \(time), and it was cleared there or here"
                default: "\(place) was told at \(time)"
                }
            return "  phone: " + words
        }
    }

    var json: JSON { ["place": place, "state": state, "at": at] }
}
