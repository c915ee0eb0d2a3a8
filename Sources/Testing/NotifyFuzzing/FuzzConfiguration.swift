import NotifyDaemon
import Routing
import TOMLTables

/// A configuration file: it is taken, or refused with a place that is in it.
public func fuzzConfiguration(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(ConfigurationError) {
        var reader = ConfigurationReader()
        reader.add(file: "fuzz.toml", text: text)
        let configuration = try reader.finish()
        precondition(!text.utf8.contains(0), "nothing behind a NUL is overlooked")
        for route in configuration.routes.routes { checkTemplates(of: route) }
    } catch {
        precondition(!error.mistakes.isEmpty && error.mistakes.count <= error.count, "a refusal has a reason")
        // Not its characters: to Swift, the line end of other systems is one, and not this one.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for mistake in error.mistakes {
            precondition(!mistake.reason.isEmpty && mistake.file == "fuzz.toml", "a mistake says where and why")
            precondition((1...lines.count).contains(mistake.line), "the line is one of the file")
            let length = lines[mistake.line - 1].count
            precondition((1...length + 1).contains(mistake.column), "the column is one of the line")
        }
    }
}

/// Whatever template was accepted can be rendered.
private func checkTemplates(of route: Route) {
    guard let topic = try? Topic(sample(of: route.pattern)) else { return }
    let event = Event(
        id: EventID(1), topic: topic, title: "title", body: "", fields: [], published: 0, sender: ":1.1",
        origin: Origin(), urgency: nil, retained: false, route: route)
    let request = BannerRequest(call: BannerCall(1), replaces: nil, newest: event, count: 2, isSummary: false)
    let text = BannerText(request)
    precondition(!text.title.isEmpty, "a banner has a title")
}

/// A topic that a pattern matches.
private func sample(of pattern: TopicPattern?) -> String {
    let segments = pattern?.description.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) } ?? ["a"]
    return "/" + segments.map { $0.hasPrefix("{") || $0 == "**" ? "1" : $0 }.joined(separator: "/")
}
