import NotifyClient
import NotifyJSON

/// Whether the phone was told of an event: what notifyd-ntfy says.
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
        let answer = try? await query.ask(
            BridgeInfo.prefix + "ntfy", BridgeInfo.path, "org.notifyd.Ntfy1", "Told", [.string(source), .string(id)])
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

    var json: JSON {
        .object([("place", .string(place)), ("state", .string(state)), ("at", .integer(at))])
    }
}
