import ArgumentParser
import NotifyClient
import NotifyJSON
import NotifyText

/// A program that shows an ``InboxStatus``, and the lines that it reads: see waybar-custom(5), the module custom/script
/// of polybar, and the block custom of i3status-rust.
enum StatusBar: String, ExpressibleByArgument, CaseIterable, Sendable {
    case json, waybar, polybar, i3status

    private static let longestText = 60

    func line(_ status: InboxStatus, at now: Int64) -> String {
        switch self {
        case .json: status.json.text(pretty: false)
        case .waybar: waybar(status, now).text(pretty: false)
        case .polybar: polybar(status, now)
        case .i3status: i3status(status, now).text(pretty: false)
        }
    }

    private func waybar(_ status: InboxStatus, _ now: Int64) -> JSON {
        let alternative =
            !status.isRunning ? "absent" : status.quiet != nil ? "quiet" : status.unread > 0 ? "unread" : "none"
        let state =
            !status.isRunning
            ? ["absent"]
            : [status.unread > 0 ? "unread" : "none"] + (status.quiet != nil ? ["quiet"] : [])
                + (status.isUrgent ? ["critical"] : [])
        let classes = state + (status.isInTrouble ? ["trouble"] : [])
        return .object([
            ("text", .string(status.isRunning ? "\(status.unread)" : "")), ("alt", .string(alternative)),
            ("tooltip", .string(tooltip(status, now))), ("class", .array(classes.map(JSON.string))),
            ("percentage", .integer(min(status.unread, 100))),
        ])
    }

    /// In Pango's markup.
    private func tooltip(_ status: InboxStatus, _ now: Int64) -> String {
        guard status.isRunning else { return "notifyd is not running" }
        let events = status.newest.map { entry in
            let body = entry.text.body.isEmpty ? "" : " " + Self.short(entry.text.body).markup
            return "<b>" + Self.short(entry.text.title).markup + "</b>" + body
        }
        let rest = status.unread - events.count
        return
            (["\(status.unread) unread"] + (status.degradation.isEmpty ? [] : [Self.trouble(status).markup])
            + (status.quiet.map { [Self.words($0, now).markup] } ?? []) + events
            + (rest > 0 && !events.isEmpty ? ["and \(rest) more"] : [])).joined(separator: "\n")
    }

    /// An empty line hides the module.
    private func polybar(_ status: InboxStatus, _ now: Int64) -> String {
        // There, %{ begins a formatting tag, and nothing escapes it.
        text(status, now).replacing("%{", with: "% {")
    }

    private func text(_ status: InboxStatus, _ now: Int64) -> String {
        guard status.isRunning else { return "(absent)" }
        let parts =
            (status.unread > 0 ? ["\(status.unread)"] : []) + (status.quiet.map { ["(\(Self.words($0, now)))"] } ?? [])
        // Without a sign between them, a title such as “4 events” would run into the number.
        let title = status.newest.first.map { [Self.short($0.text.title)] } ?? []
        let state = (status.degradation.isEmpty ? [] : ["(in trouble)"]) + parts
        return ([state.joined(separator: " ")] + title).filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// In Pango's markup. An empty text hides the block if it has `hide_when_empty`.
    private func i3status(_ status: InboxStatus, _ now: Int64) -> JSON {
        let state =
            !status.degradation.isEmpty
            ? "Critical" : !status.isRunning || status.unread == 0 ? "Idle" : status.isUrgent ? "Warning" : "Info"
        return .object([
            ("icon", .string(status.quiet == nil ? "bell" : "bell-slash")), ("state", .string(state)),
            ("text", .string(text(status, now).markup)),
            ("short_text", .string(status.unread > 0 ? "\(status.unread)" : "")),
        ])
    }

    private static func trouble(_ status: InboxStatus) -> String {
        "notifyd accepts nothing, because \(line(status.degradation))"
    }

    private static func words(_ quiet: Quiet, _ now: Int64) -> String {
        "quiet" + (quiet.until.map { " until " + Timestamp($0).end(seenAt: now) } ?? "")
    }

    /// One line that is not too long.
    private static func short(_ text: String) -> String { line(text).truncated(to: longestText) }

    private static func line(_ text: String) -> String {
        Terminal.plain(text.split { $0.isNewline || $0 == "\t" }.joined(separator: " "))
    }
}

extension InboxStatus {
    fileprivate var json: JSON {
        .object([
            ("running", .boolean(isRunning)), ("unread", .integer(unread)), ("newest", newest.first?.json ?? .null),
            ("quiet", .boolean(quiet != nil)), ("until", quiet?.until.map { .integer($0) } ?? .null),
            ("trouble", .boolean(isInTrouble)),
        ])
    }
}

extension String {
    /// The text in Pango's markup.
    fileprivate var markup: String {
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars where !scalar.isForInternalUse {
            switch scalar {
            case "&": result.append(contentsOf: "&amp;".unicodeScalars)
            case "<": result.append(contentsOf: "&lt;".unicodeScalars)
            case ">": result.append(contentsOf: "&gt;".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
