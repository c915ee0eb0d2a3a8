import NotifyClient

/// Draws an ``InboxScreen``.
struct InboxFrame {
    private enum Row {
        case heading(InboxList.Group)
        case entry(InboxEntry)
        case text(Cell)
    }

    static let keys: [(key: String, meaning: String)] = [
        ("q, Ctrl-C", "end"),
        ("up, down, j, k", "select an event"),
        ("PgUp, PgDn", "a page up or down"),
        ("Home, End, g, G", "the first or the last event"),
        ("Enter, Space", "show or hide the whole text"),
        ("r", "mark the event as read: its banner is closed"),
        ("R", "mark its topic as read, and all below it"),
        ("c", "claim the event, and say what that did"),
        ("m", "mute its topic for an hour, or end its mute"),
        ("z", "snooze it: its banner is closed, and comes back in 10 minutes"),
        ("w", "why it was shown, or not"),
        ("1 to 8", "press that button of the event"),
        ("b", "press its only button"),
        ("/", "show only events with a text; Esc: all again"),
        ("", ""),
        ("3, 3+", "events of the topic that are listed; with +, there may be older ones"),
        ("muted, expired", "the outcome of an event that was not shown"),
        ("until 18:30", "it is snoozed: its banner comes back then"),
        ("!", "critical"),
        ("[2]", "the number of its buttons; Enter lists them"),
    ]

    /// The keys, the most important first, as many as fit.
    private func hints(_ mute: String) -> String {
        let all = [
            "q end", "? help", "r read", "z snooze", "m \(mute)", "Enter text", "c claim", "w why", "1-8 button",
            "R topic", "/ filter",
        ]
        return all.dropFirst().reduce(all[0]) { line, hint in
            let longer = line + "  " + hint
            return longer.columns <= width ? longer : line
        }
    }
    private static let indentation = "    "

    let now: Int64
    let width: Int
    let height: Int

    /// The lines of the whole terminal.
    func lines(_ screen: inout InboxScreen) -> [String] {
        // At least the selected event is visible, because keys act on it.
        let foot = height > 1 || screen.mode != .list ? [footer(screen).written(within: width).text] : []
        let head = header(screen).prefix(max(0, height - 2)).map { $0.written(within: width).text }
        let room = max(0, height - head.count - foot.count)
        let body =
            switch screen.mode {
            case .list, .filter: list(&screen, room)
            case .help:
                text(
                    Columns.wrapped(Self.keys.map { [Cell($0.key, .bold), Cell($0.meaning)] }, within: width),
                    &screen, room)
            case .explanation(let explanation):
                text(Decision(explanation, now: now).lines(within: width), &screen, room)
            }
        let space = [String](repeating: "", count: room - body.count)
        return head + body + space + foot
    }

    private func text(_ lines: [String], _ screen: inout InboxScreen, _ room: Int) -> [String] {
        Array(lines[screen.visible(of: lines.count, height: room)])
    }

    // MARK: Head and foot

    private func header(_ screen: InboxScreen) -> [Cell] {
        let gap = Cell("   ")
        var first = Cell("Inbox", .bold)
        if let total = screen.list.total { first = first + gap + Cell(count(of: screen.list, total)) }
        if let pause = screen.quiet.pause { first = first + gap + Cell("banners \(pause.words(at: now))", .yellow) }
        if !screen.list.filter.isEmpty, screen.mode != .filter {
            first = first + gap + Cell("with “\(screen.list.filter)”", .yellow)
        }
        let second: [Cell] =
            switch screen.daemon {
            case .absent: [Cell("notifyd is not running; waiting for it", .red)]
            case .failing(let words): [Cell(words, .red)]
            case .unasked, .running: []
            }
        return [first] + second + (screen.quiet.mutes().map { [Cell("muted: " + $0, .yellow)] } ?? [])
    }

    /// With a filter also how many it finds, once all are read that are kept in memory.
    private func count(of list: InboxList, _ total: Int) -> String {
        let rest = total > InboxList.capacity ? ", the newest \(InboxList.capacity) are listed" : ""
        guard !list.filter.isEmpty, !list.isShort else { return "\(total) unread" + rest }
        return list.isCut
            ? "\(list.matching) of the newest \(list.entries.count), \(total) unread"
            : "\(list.matching) of \(total) unread"
    }

    private func footer(_ screen: InboxScreen) -> Cell {
        switch screen.mode {
        case .filter: Cell("/" + screen.list.filter) + Cell("_", .dim)
        case .help, .explanation: Cell("any other key goes back", .dim)
        case .list:
            screen.status.map { Cell($0, .bold) }
                ?? Cell(hints(screen.isSelectionMuted ? "unmute" : "mute"), .dim)
        }
    }

    // MARK: Events

    private func list(_ screen: inout InboxScreen, _ room: Int) -> [String] {
        var rows: [Row] = []
        var selected: Range<Int>?
        for group in screen.list.groups {
            let isFirst = group.entries.first?.id == screen.list.selection
            let start = rows.count
            rows.append(.heading(group))
            for entry in group.entries {
                let index = rows.count
                rows.append(.entry(entry))
                if screen.list.expanded.contains(entry.id) { rows += details(of: entry).map(Row.text) }
                // With its heading, if it is the first of its topic and there is room for both.
                if entry.id == screen.list.selection { selected = (isFirst && room > 1 ? start : index)..<rows.count }
            }
        }
        if rows.isEmpty { rows = [.text(Cell(absence(screen), .dim))] }
        let unlisted = (screen.list.total ?? 0) - screen.list.entries.count
        if screen.list.hasMore, unlisted > 0 {
            let advice =
                screen.list.isCut
                ? "; name a topic to see them" : screen.list.isShort ? "; notifyd is asked for them" : ""
            rows.append(.text(Cell("and \(unlisted) older\(advice)", .dim)))
        }
        let visible = screen.visible(of: rows.count, height: room, selected: selected)
        let times = screen.list.entries.map { Timestamp($0.published).age(seenAt: now).columns }.max() ?? 0
        return rows[visible].map { row in
            let cell =
                switch row {
                case .heading(let group):
                    Cell(group.topic, .bold)
                        + Cell(
                            group.entries.count > 1
                                ? "  \(group.entries.count)" + (screen.list.hasMore ? "+" : "") : "", .dim)
                case .entry(let entry):
                    line(of: entry, isSelected: entry.id == screen.list.selection, times: times)
                case .text(let cell): cell
                }
            return cell.written(within: width).text
        }
    }

    private func absence(_ screen: InboxScreen) -> String {
        guard screen.list.total != nil else { return screen.daemon == .unasked ? "asking notifyd" : "" }
        if screen.list.entries.isEmpty { return "Nothing unread." }
        if screen.list.isShort { return "No event so far has this text." }
        return screen.list.isCut
            ? "None of the newest \(screen.list.entries.count) has this text; Esc shows all."
            : "Nothing has this text; Esc shows all."
    }

    private func line(of entry: InboxEntry, isSelected: Bool, times: Int) -> Cell {
        let time = Timestamp(entry.published).age(seenAt: now)
        let gap = String(repeating: " ", count: max(0, times - time.columns))
        var cell = Cell(isSelected ? "> " : "  ", .bold) + Cell(gap + time, .dim) + Cell("  ")
        if entry.outcome != .shown { cell = cell + entry.outcome.cell + Cell("  ") }
        if let end = entry.snoozeEnd {
            cell = cell + Cell("until " + Timestamp(end).end(seenAt: now), .yellow) + Cell("  ")
        }
        if entry.urgency == .critical { cell = cell + Cell("! ", .red) }
        if let app = entry.appearance.app { cell = cell + Cell(app.flat + ": ", .dim) }
        cell = cell + Cell(entry.text.title.flat, isSelected ? .bold : .plain)
        if !entry.text.body.isEmpty { cell = cell + Cell(" – " + entry.text.body.flat) }
        if !entry.appearance.buttons.isEmpty { cell = cell + Cell("  [\(entry.appearance.buttons.count)]", .dim) }
        return cell
    }

    /// The whole text, the buttons, and where it is from.
    private func details(of entry: InboxEntry) -> [Cell] {
        let room = max(1, width - Self.indentation.columns)
        let texts =
            [entry.text.title]
            + entry.text.body.split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        var lines = texts.filter { !$0.isEmpty }.flatMap { Cell($0).folded(to: room) }
        let buttons = entry.appearance.buttons.enumerated().map { Cell("\($0 + 1) ", .bold) + Cell($1.label) }
        if !buttons.isEmpty { lines += buttons.joined().folded(to: room) }
        let origin = [Cell("\(entry.id)", .dim), Cell(Timestamp(entry.published).text, .dim)]
        lines += ((entry.appearance.app.map { [Cell($0, .dim)] } ?? []) + origin).joined().folded(to: room)
        return lines.map { Cell(Self.indentation) + $0 }
    }
}
