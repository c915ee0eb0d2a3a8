import ArgumentParser
import Glibc
import NotifyClient
import NotifyText

struct BusOptions: ParsableArguments {
    @Option(help: "The D-Bus address of the bus, instead of the session bus.") var address: String?

    /// How long a command that only reads waits for the first answer, as long as “doctor”.
    private static let readingPatience = BusQuery.timeout * 2

    /// Connects, and checks that notifyd answers, so that errors are reported early.
    ///
    /// - Parameters:
    ///   - starting: whether the bus may start it.
    ///   - reading: whether the command changes nothing, so that nothing is lost if it gives up early.
    func connect(starting: Bool = true, reading: Bool = false) async throws -> NotifyClient {
        let client = try await NotifyClient(address: address)
        do throws(NotifyError) {
            _ = try await client.version(within: reading ? Self.readingPatience : Connection.usualTimeout)
        } catch {
            switch error.code {
            case .timedOut:
                let process = await client.process(of: Router.name).map { ", process \($0)" } ?? ""
                throw Complaint(
                    .nothing,
                    "notifyd is on the bus\(process), but it does not answer. Restart it: "
                        + "systemctl --user restart notifyd")
            case .notReachable where [NotifyError.noReply, NotifyError.badConfiguration].contains(error.name):
                throw error
            case .notReachable where error.name != nil:
                try await withQuery { try await Activation(query: $0).perform(starting: starting) }
            // The command itself reports the error.
            default: break
            }
        }
        return client
    }
}

/// The options of commands that use the bus.
struct CommonOptions: ParsableArguments {
    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions
}

/// A command that uses the bus and prints something.
protocol BusCommand: AsyncParsableCommand {
    var common: CommonOptions { get }
}

extension BusCommand {
    var bus: BusOptions { common.bus }
    var output: OutputOptions { common.output }
}

struct OutputOptions: ParsableArguments {
    enum JSONStyle: String, ExpressibleByArgument, CaseIterable { case off, short, pretty }

    @Option(name: .customLong("json"), help: "Write JSON: off, short (one line each) or pretty.") var style: JSONStyle?

    @Flag(name: .customShort("j"), help: "Like --json=pretty on a terminal, else like --json=short.") var isJSON = false

    func validate() throws {
        if isJSON && style != nil { throw ValidationError("Give either -j or --json, not both.") }
    }

    var json: JSONStyle { style ?? (isJSON ? (Terminal.isInteractive ? .pretty : .short) : .off) }

    /// Writes the JSON of each element, or lines for people.
    func write(list: @autoclosure () -> [JSON], lines: @autoclosure () -> [String]) {
        guard json == .off else {
            for element in list() { write(element, text: nil) }
            return
        }
        let lines = lines()
        if !lines.isEmpty { Terminal.print(lines.joined(separator: "\n")) }
    }

    /// Writes `value` if JSON is wanted, else the text if there is any.
    func write(_ value: @autoclosure () -> JSON, text: @autoclosure () -> String?) {
        switch json {
        case .off: if let text = text() { Terminal.print(text) }
        case .short: Terminal.print(value().text(pretty: false))
        case .pretty: Terminal.print(value().text(pretty: true))
        }
    }
}

/// An event on the command line: an id, or `last`.
enum EventArgument: Hashable, Sendable {
    case id(EventID)
    case last

    static func parse(_ text: String) throws -> EventArgument {
        if text == "last" { return .last }
        guard let id = UInt64(text) else {
            throw ValidationError(
                "“\(text)” is neither the id of an event nor “last”. Write the number that “send”, "
                    + "“listen” and “history” print."
            )
        }
        return .id(EventID(rawValue: id))
    }

    /// For an option with which the interface means every event by 0.
    ///
    /// - Parameter everything: how to ask for every event.
    static func parseLast(otherwise everything: String) -> @Sendable (String) throws -> EventArgument {
        { text in
            let event = try parse(text)
            guard event != .id(0) else { throw ValidationError("“\(text)” is not the id of an event. \(everything)") }
            return event
        }
    }

    /// - Throws: `Complaint` if there is no event.
    func find(_ client: NotifyClient) async throws -> EventID {
        if let id = try await findIfAny(client) { return id }
        throw Complaint(.nothing, "There is no event yet.")
    }

    /// `nil` if it is the last one, and there is no event.
    func findIfAny(_ client: NotifyClient) async throws(NotifyError) -> EventID? {
        switch self {
        case .id(let id): id
        case .last: try await HistoryReader(client: client, topic: "/").last(1).last?.event.id
        }
    }
}

struct EventOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The id of the event, as “send”, “listen” and “history” print it, or “last”.", valueName: "id"),
        completion: Completion.eventsAndLast, transform: EventArgument.parse)
    var event: EventArgument

    func explanation(_ client: NotifyClient) async throws -> Explanation {
        try await client.explain(try await event.find(client))
    }
}

/// A field of an event on the command line: `key=value` is a string, `key:TYPE=value` has a type.
struct FieldArgument: Sendable {
    let key: String
    let value: Value

    static let types = "string, integer, number, boolean, or a D-Bus letter: y b n q i u x t d s o g"

    static func parse(_ text: String) throws -> FieldArgument {
        guard let (name, value) = text.cut(at: "="), !name.isEmpty else {
            throw ValidationError(
                "“\(text)” is not a field. Write KEY=VALUE or KEY:TYPE=VALUE, such as distance:integer=5000.")
        }
        guard let colon = name.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            return FieldArgument(key: name, value: .string(value))
        }
        let key = String(name[..<colon])
        let type = String(name[name.utf8.index(after: colon)...])
        guard !key.isEmpty else { throw ValidationError("“\(text)” has no key before the colon.") }
        guard let read = readers[type] else {
            throw ValidationError("“\(type)” in “\(name)” is not a type. There are \(types).")
        }
        guard let typed = read(value), typed.flaw() == nil else {
            throw ValidationError("“\(value)” is not a valid \(type) for the field “\(key)”.")
        }
        return FieldArgument(key: key, value: typed)
    }

    private static let readers: [String: @Sendable (String) -> Value?] = [
        "string": { .string($0) }, "s": { .string($0) },
        "integer": { Int64($0).map(Value.int64) }, "x": { Int64($0).map(Value.int64) },
        "number": { number($0) }, "d": { number($0) },
        "boolean": { boolean($0) }, "b": { boolean($0) },
        "y": { UInt8($0).map(Value.byte) },
        "n": { Int16($0).map(Value.int16) }, "q": { UInt16($0).map(Value.uint16) },
        "i": { Int32($0).map(Value.int32) }, "u": { UInt32($0).map(Value.uint32) },
        "t": { UInt64($0).map(Value.uint64) },
        "o": { .objectPath($0) }, "g": { .signature($0) },
    ]

    /// JSON, in which events are printed, has no other numbers.
    private static func number(_ text: String) -> Value? { Double(text).flatMap { $0.isFinite ? .double($0) : nil } }

    private static func boolean(_ text: String) -> Value? {
        switch text {
        case "true", "yes", "1": .boolean(true)
        case "false", "no", "0": .boolean(false)
        default: nil
        }
    }
}

extension StringProtocol {
    /// Whether there is nothing but spaces in it.
    var isBlank: Bool { allSatisfy(\.isWhitespace) }

    /// What stands before and behind the first such sign; `nil` without one. By bytes: in a String “=” and a combining
    /// mark are one character.
    func cut(at sign: Unicode.Scalar) -> (String, String)? {
        guard let place = utf8.firstIndex(of: UInt8(ascii: sign)) else { return nil }
        return (String(self[..<place]), String(self[utf8.index(after: place)...]))
    }
}

/// Numbers on the command line. Options take them `.unconditional`, so that the error of a negative number names the
/// range.
enum NumberArgument {
    /// - Parameter what: such as “a number of events”.
    static func parse<Number: FixedWidthInteger & Sendable>(
        _ range: ClosedRange<Number>, _ what: String = "a number"
    ) -> @Sendable (String) throws -> Number {
        { text in
            if let number = Number(text), range.contains(number) { return number }
            let bounds =
                switch (range.lowerBound == .min, range.upperBound == .max) {
                case (true, true): ""
                case (false, true): " of at least \(range.lowerBound)"
                default: " from \(range.lowerBound) to \(range.upperBound)"
                }
            throw ValidationError("“\(text)” is not \(what)\(bounds).")
        }
    }

    @Sendable static func eventID(_ text: String) throws -> UInt64 {
        guard let id = UInt64(text) else {
            throw ValidationError(
                "“\(text)” is not the id of an event. Write the number that “send”, “listen” and “history” print.")
        }
        return id
    }
}

/// A duration on the command line, as in the configuration: `100ms`, `5s`, `10m`, `2h`.
enum DurationArgument {
    private static let longest = Duration.seconds(366 * 86400)

    @Sendable static func parse(_ text: String) throws -> Duration { try parse(.zero...longest)(text) }

    /// - Parameters:
    ///   - range: the times that notifyd takes.
    ///   - unit: what notifyd counts in: whole seconds or milliseconds. A part of a unit would be lost.
    static func parse(
        _ range: ClosedRange<Duration> = .zero...longest, in unit: Duration = .microseconds(1)
    ) -> @Sendable (String) throws -> Duration {
        { text in
            guard !Duration.isTooLong(text) else { throw tooLong(text, range.upperBound) }
            guard let duration = Duration(text: text) else {
                throw ValidationError(
                    "“\(text)” is not a time. Write a whole number and a unit, such as 100ms, 5s, 10m, 2h or 28d; the "
                        + "longest is \(range.upperBound.text).")
            }
            guard duration.microseconds % unit.microseconds == 0 else {
                throw ValidationError(
                    unit == .seconds(1)
                        ? "“\(text)” is not a number of whole seconds. Write a time such as 1s, 10m, 2h or 28d."
                        : "“\(text)” is not a number of whole milliseconds. Write a time such as 1ms, 250ms or 5s.")
            }
            guard range.contains(duration) else {
                throw duration > range.upperBound
                    ? tooLong(text, range.upperBound)
                    : ValidationError("“\(text)” is too short: at least \(range.lowerBound.text).")
            }
            return duration
        }
    }

    /// A number of whole seconds, or a time of the day, such as 9:00: then until the local clock shows it next.
    static func parseEnd(
        _ range: ClosedRange<Duration> = .zero...longest, now: @escaping @Sendable () -> Int64 = { Timestamp.now }
    ) -> @Sendable (String) throws -> Duration {
        { text in
            guard text.contains(":") else {
                guard Duration(text: text) != nil || Duration.isTooLong(text) else {
                    throw ValidationError(
                        "“\(text)” is not a time. Write 10m, 2h or 28d for how long, at most "
                            + "\(range.upperBound.text), or 9:00 for until when.")
                }
                return try parse(range, in: .seconds(1))(text)
            }
            let now = now()
            guard let end = MomentArgument.next(text, after: now) else {
                throw ValidationError("“\(text)” is not a time of the day. Write it as 9:00 or 18:30.")
            }
            let left = Duration.seconds((end - now + 999_999) / 1_000_000)
            guard left >= range.lowerBound else {
                throw ValidationError("“\(text)” is too soon: at least \(range.lowerBound.text) from now.")
            }
            return left
        }
    }

    static func tooLong(_ text: String, _ longest: Duration = longest) -> ValidationError {
        ValidationError("“\(text)” is too long: at most \(longest.text).")
    }
}

extension Duration {
    /// Whether a text is a time of the right form, but longer than any that can be meant.
    static func isTooLong(_ text: String) -> Bool {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let hasUnit = ["us", "ms", "s", "m", "h", "d"].contains(text.dropFirst(digits.count))
        return !digits.isEmpty && hasUnit && Duration(text: text) == nil
    }
}

/// A place in the history on the command line: the id of an event, or a time.
enum MomentArgument: Hashable, Sendable {
    case event(UInt64)
    /// In microseconds since the epoch.
    case time(Int64)

    static func parse(_ text: String) throws -> MomentArgument { try parse(text, now: Timestamp.now) }

    /// - Parameter now: in microseconds since the epoch.
    static func parse(_ text: String, now: Int64) throws -> MomentArgument {
        if let id = UInt64(text) { return .event(id) }
        if let age = Duration(text: text) { return .time(now - age.microseconds) }
        if Duration.isTooLong(text) { throw DurationArgument.tooLong(text) }
        guard let time = localTime(text) else {
            throw ValidationError(
                "“\(text)” is neither an id nor a time. Write a date, such as 2026-05-03 or “2026-05-03 17:04:05”, or "
                    + "how long ago, such as 90m, 12h or 30d.")
        }
        return .time(time)
    }

    /// The local time `2026-05-03`, `2026-05-03 17:04` or `2026-05-03T17:04:05`, in microseconds since the epoch.
    private static func localTime(_ text: String) -> Int64? {
        let form = /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?/
        guard let (_, year, month, day, hour, minute, second) = text.wholeMatch(of: form)?.output else { return nil }
        func number(_ digits: Substring?) -> CInt { digits.flatMap { CInt($0) } ?? 0 }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (number(year) - 1900, number(month) - 1, number(day))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(hour), number(minute), number(second))
        guard parts.tm_hour < 24, parts.tm_min < 60, parts.tm_sec < 60 else { return nil }
        // Whether it is summer time.
        parts.tm_isdst = -1
        let seconds = mktime(&parts)
        // mktime makes 3 March of 31 February.
        guard parts.tm_mon == number(month) - 1, parts.tm_mday == number(day) else { return nil }
        return Int64(seconds) * 1_000_000
    }

    /// The next moment at which the local clock shows a time such as `9:00`; `nil` if that is none.
    static func next(_ text: String, after now: Int64) -> Int64? {
        guard let clock = text.wholeMatch(of: /([0-9]{1,2}):([0-9]{2})/)?.output, let hour = CInt(clock.1),
            let minute = CInt(clock.2), hour < 24, minute < 60
        else { return nil }
        var seconds = time_t(now / 1_000_000)
        var today = tm()
        localtime_r(&seconds, &today)
        for day: CInt in 0...1 {
            var parts = today
            parts.tm_mday += day
            (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (hour, minute, 0, -1)
            let moment = Int64(mktime(&parts)) * 1_000_000
            if moment > now { return moment }
        }
        return nil
    }
}
