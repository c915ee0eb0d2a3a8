import NotifyDaemon
import Routing

/// A configuration file: it is taken, or refused with a place that is in it.
public func fuzzConfiguration(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(ConfigurationError) {
        var reader = try ConfigurationReader()
        try reader.add(file: "fuzz.toml", text: text)
        let configuration = try reader.finish()
        precondition(!text.utf8.contains(0), "nothing behind a NUL is overlooked")
        for route in configuration.routes.routes { checkTemplates(of: route) }
    } catch {
        precondition(!error.reason.isEmpty && error.file == "fuzz.toml", "a refusal says where and why")
        // Not its characters: to Swift, the line end of other systems is one, and not this one.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // The end of the file may be where something is missing.
        precondition((0...lines.count + 1).contains(error.line), "the line is one of the file")
        guard lines.indices.contains(error.line - 1) else { return }
        precondition((0...lines[error.line - 1].count + 1).contains(error.column), "the column is one of the line")
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
    return "/" + segments.map { $0.hasPrefix("{") ? "1" : $0 }.joined(separator: "/")
}
