import Routing
import TOMLTables

/// Reads `[[quiet]]`.
extension Schedule {
    /// - Returns: `nil` after a mistake, which is noted.
    init?(_ table: TOMLTable, in source: ConfigurationSource) {
        var reader = TableReader(table, in: source)
        let from = Self.time("from", &reader)
        let to = Self.time("to", &reader)
        let days = Self.days(&reader)
        let topics = Self.topics(&reader)
        let hasDigest = reader.boolean("digest") ?? false
        reader.finish()
        guard let from, let to, let days, let topics else { return nil }
        self.init(from: from, to: to, days: days, topics: topics, hasDigest: hasDigest)
    }

    private static func time(_ key: String, _ reader: inout TableReader) -> Int? {
        let wanted = "a local time from \"00:00\" to \"23:59\""
        guard reader.has(key) else {
            _ = reader.string(key)
            reader.source.note(at: reader.offset, "a schedule needs '\(key)', \(wanted)")
            return nil
        }
        guard let text = reader.string(key) else { return nil }
        guard let minute = minute(text) else {
            reader.note(key, "'\(key)' must be \(wanted); it is \"\(PlainText.excerpt(text))\"")
            return nil
        }
        return minute
    }

    private static func days(_ reader: inout TableReader) -> [Day]? {
        guard reader.has("days") else {
            _ = reader.strings("days")
            return Day.allCases
        }
        guard let names = reader.strings("days") else { return nil }
        guard !reader.isEmptyList("days") else {
            reader.note("days", "'days' must have at least one of \(Day.quoted); without 'days' every day counts")
            return nil
        }
        var days: Set<Day> = []
        for (name, offset) in names {
            guard let day = Day(rawValue: name) else {
                reader.source.note(
                    at: offset, "\"\(PlainText.excerpt(name))\" is not a day; the days are \(Day.quoted)")
                continue
            }
            days.insert(day)
        }
        return days.isEmpty ? nil : Day.allCases.filter(days.contains)
    }

    private static func topics(_ reader: inout TableReader) -> [TopicPrefix]? {
        guard reader.has("topics") else {
            _ = reader.strings("topics")
            return [.all]
        }
        guard let texts = reader.strings("topics") else { return nil }
        guard !reader.isEmptyList("topics") else {
            reader.note("topics", "'topics' must have at least one topic; without 'topics' all topics count")
            return nil
        }
        guard texts.count <= maximumTopics else {
            reader.source.note(
                at: texts[maximumTopics].offset,
                "'topics' must have at most \(maximumTopics) topics; it has \(texts.count)")
            return nil
        }
        var topics: [TopicPrefix] = []
        for (text, offset) in texts {
            do throws(TopicError) {
                let topic = try TopicPrefix(text)
                if !topics.contains(topic) { topics.append(topic) }
            } catch {
                reader.source.note(at: offset, error.description)
            }
        }
        return topics.isEmpty ? nil : topics
    }
}
