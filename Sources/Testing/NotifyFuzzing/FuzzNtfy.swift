import Mapping
import NotifyText
import Routing

/// What a server of ntfy says: the bytes of a stream, which the first byte cuts into pieces; or of a picture.
public func fuzzNtfy(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    if let picture = PictureHeader(bytes), picture.isDrawable {
        precondition(picture.width * picture.height <= PictureHeader.maximumPixels, "pictures have limits")
    }
    let size = max(Int(first), 1)
    var reader = LineReader(limit: 1000)
    var whole = LineReader(limit: 1000)
    var lines: [[UInt8]] = []
    let stream = Array(bytes.dropFirst())
    for start in stride(from: 0, to: stream.count, by: size) {
        reader.append(Array(stream[start..<min(start + size, stream.count)]))
        lines += read(&reader)
    }
    whole.append(stream)
    precondition(lines == read(&whole), "lines are the same however they are cut")
    precondition(reader.dropped == whole.dropped, "so is what was too long")
    var sequences = SequenceTable()
    for line in lines {
        guard let message = try? NtfyMessage(line: line) else { continue }
        precondition(NtfyMessage.isName(message.id) && NtfyMessage.isName(message.sequence), "names are names")
        precondition((1...5).contains(message.priority), "priorities have limits")
        if message.event == .clear {
            _ = sequences.ended(message, .cleared)
        } else {
            _ = sequences.received(message)
        }
        guard let event = try? map.event(of: message) else { continue }
        check(event)
    }
    var restored = SequenceTable()
    for (key, value) in sequences.takeChanges() { if let value { restored.restore(key, value) } }
}

private func read(_ reader: inout LineReader) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    while let piece = reader.next() {
        precondition(piece.bytes <= LineReader.bytesOfPiece, "pieces have limits")
        precondition(piece.ends <= LineReader.linesOfPiece, "also in lines")
        precondition(piece.lines.count + piece.empty <= piece.ends, "every line is counted")
        lines += piece.lines
    }
    return lines
}

private let map = {
    var map = SubscribeMap(names: ["a"], topic: try! TopicPattern("/ntfy/{name}"))
    map.title = try! MessageTemplate("{{emoji}}{{title}}{{#tags}}{{.}}{{/tags}}{{json.a}}")
    map.rules = rules
    return map
}()

private let rules = {
    var rules = MapRules()
    rules.silent = [[.init(["json", "a"], ["*"]), .init(["tags"], ["door"])]]
    rules.collapse = ["json", "a"]
    rules.urgency = try! MessageTemplate("{{json.a}}")
    return rules
}()

private func check(_ event: NtfyEvent) {
    precondition(event.title.utf8.count <= 1024 && event.body.utf8.count <= 8192, "texts have limits")
    precondition(event.topic.description.fitsIntoMessage, "the bus takes every topic")
    precondition(event.title.fitsIntoMessage && event.body.fitsIntoMessage, "the bus takes every text")
    precondition(event.collapse.fitsIntoMessage && (1...256).contains(event.collapse.utf8.count), "and what collapses")
    precondition(event.buttons.count <= 8 && event.eventID.utf8.count <= 255, "buttons and names have limits")
    var size = 0
    for (name, value) in event.fields {
        let texts = (value.elements ?? [value]).compactMap(\.string)
        precondition(texts.allSatisfy(\.fitsIntoMessage), "the bus takes every field")
        size += texts.reduce(8) { $0 + $1.utf8.count }
        if name == NtfyEvent.actionsField, let text = texts.first {
            precondition(NtfyAction.text(of: NtfyAction.list(from: text).compactMap(\.self)) == text, "actions stay")
        }
    }
    precondition(size < 60_000, "all of it fits into an event")
}
