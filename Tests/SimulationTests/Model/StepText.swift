import NotifyText
import Routing

/// A script as lines that a person can read and play in the head.
extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .publish(let label, let topic, let peer, let extras): "\(peer) publishes e\(label) on \(topic)\(extras)"
        case .claim(let event, let peer): "\(peer) claims e\(event)"
        case .claimNamed(let name, let kind, let time, let peer):
            "\(peer) says that \(name) was \(kind)\(time.map { ", to be awaited for \($0.text)" } ?? "")"
        case .hold(let event, let time, let peer): "\(peer) claims e\(event) provisionally for \(time.text)"
        case .complete(let event, let peer): "\(peer) completes e\(event)"
        case .release(let event, let peer): "\(peer) releases e\(event)"
        case .pass(let event, let peer): "\(peer) passes on e\(event)"
        case .withdraw(let event, let peer): "\(peer) withdraws e\(event)"
        case .claimTopic(let topic, let grace, let peer): "\(peer) claims topic \(topic), grace \(grace.text)"
        case .markRead(let topic, let label, let peer):
            "\(peer) marks \(topic) as read up to \(label.map { "e\($0)" } ?? "the end")"
        case .forget(let event): "e\(event) is forgotten, if it is decided"
        case .openScreen(let label, let topic, let options, let peer):
            "\(peer) opens screen s\(label) on \(topic)\(Self.text(of: options))"
        case .updateScreen(let label, let options, let peer):
            "\(peer) updates screen s\(label)\(Self.text(of: options))"
        case .closeScreen(let label, let peer): "\(peer) closes screen s\(label)"
        case .peerLeaves(let peer): "\(peer) leaves the bus"
        case .identify(let peer, let program, let hasLeft):
            "\(peer) is \(program.map { "program \($0)" } ?? "a program that cannot be told")"
                + "\(hasLeft ? ", and has left" : "")"
        case .watched(let flag): flag ? "the session is watched" : "the session is locked"
        case .paused(let flag): flag ? "banners are paused" : "banners are no longer paused"
        case .desktop(let flag): "the desktop's “do not disturb” is \(flag ? "on" : "off")"
        case .pause(let time): "banners are paused for \(time.text)"
        case .schedules(let active):
            "on by schedule: \(active.map { Self.text(of: $0.topic, since: $0.began, for: $0.length, $0.hasDigest) })"
        case .countDigests(let count): "events of digests are counted: \(count)"
        case .mute(let topic, let time): "\(topic) is muted for \(time.text)"
        case .snooze(let event, let time, let peer): "\(peer) snoozes e\(event) for \(time.text)"
        case .reconfigure(let index): "configuration \(index) is loaded"
        case .serverAppears: "the server appears"
        case .serverVanishes: "the server vanishes"
        case .serverIsPrompt(let flag): flag ? "the server answers at once" : "the server answers when told"
        case .callsLeave(let flag): flag ? "calls to the server leave" : "calls to the server wait"
        case .answer(let pick, let answer): "the server answers call \(pick): \(answer)"
        case .answerStale(let pick, let answer): "the server answers old call \(pick): \(answer)"
        case .closeBanner(let pick, let reason): "banner \(pick) is closed: \(reason)"
        case .press(let pick): "a button of banner \(pick) is pressed"
        case .wait(let time): "\(time.text) go by"
        case .stall(let time): "\(time.text) go by, with the timer late"
        case .sleep(let time): "the machine sleeps for \(time.text)"
        case .untilDue: "time goes by until the timer is due"
        case .fire: "the timer goes off"
        }
    }

    private static func text(
        of topic: TopicPrefix, since began: Int64, for length: Duration, _ hasDigest: Bool
    ) -> String {
        "\(topic) since \(began) for \(length.text)\(hasDigest ? " with a digest" : "")"
    }

    private static func text(of options: ScreenOptions) -> String {
        var words: [String] = []
        if let mode = options.mode { words.append("mode \(mode)") }
        if let state = options.state { words.append("state \(state)") }
        if let lease = options.lease { words.append("lease \(lease.text)") }
        if let clear = options.clear { words.append("clear \(clear)") }
        return words.map { ", \($0)" }.joined()
    }
}

extension Step.Extras: CustomStringConvertible {
    var description: String {
        var words: [String] = []
        if let eventID { words.append("event-id \(eventID)") }
        if let collapse { words.append("collapse c\(collapse)") }
        if let banner { words.append("banner \(banner)") }
        if isCritical { words.append("critical") }
        if isOwnBanner { words.append("own-banner") }
        if let window { words.append("window \(window.text)") }
        if let lifetime { words.append("ttl \(lifetime.text)") }
        if let retain { words.append("retain \(retain)") }
        if remove { words.append("remove") }
        if ifNewer { words.append("if-newer") }
        if let age { words.append("published \(age) µs ago") }
        if isNotKept { words.append("which cannot be kept") }
        if lacksFields { words.append("without fields") }
        if title != "title" { words.append("title '\(title)'") }
        return words.map { ", \($0)" }.joined()
    }
}

extension Setup: CustomStringConvertible {
    var description: String {
        "configuration \(configuration), \(isTight ? "tight" : "roomy") limits, server "
            + "\(serverIsThere ? "there" : "away")"
    }
}
