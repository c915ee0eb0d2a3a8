import Mapping
import Routing

private let keys = PushKeys(
    privateBytes: [UInt8](repeating: 7, count: 32), authentication: [UInt8](repeating: 7, count: 16))!

/// A message of Web Push from anybody who knows the address, and the text of a sender. The first line is a template.
public func fuzzPush(_ bytes: [UInt8]) {
    let isOpened = (try? keys.open(bytes)) != nil
    precondition(!isOpened, "nobody can encrypt without the keys")
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return }
    var maps = [PushMap()]
    if let template = try? MessageTemplate(String(decoding: parts[0], as: UTF8.self)) {
        var map = PushMap()
        (map.title, map.below, map.id, map.urgency) = (template, template, template, template)
        map.fields = [PushMap.Field("field", template)]
        maps.append(map)
    }
    let topic = try! Topic("/post")
    let prefix = try! TopicPrefix("/post")
    for map in maps {
        guard let event = try? PushSource(name: "post", topic: topic, map: map).event(of: Array(parts[1])) else {
            continue
        }
        precondition(prefix.covers(event.topic), "no sender leaves the topic of the endpoint")
        precondition(event.title.utf8.count <= 1024 && event.body.utf8.count <= 8192, "texts have limits")
        precondition(!event.title.isEmpty || !event.body.isEmpty, "an event says something")
        precondition(event.id?.utf8.count ?? 1 <= 200 && event.id != "", "ids have limits")
        precondition(event.urgency ?? 0 <= 2, "urgencies are those of notifyd")
    }
}
