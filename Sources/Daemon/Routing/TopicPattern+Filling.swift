import NotifyText

extension TopicPattern {
    /// The topic with its captures replaced; `nil` if what replaces one is not a segment of a topic, or one that only means another
    /// place: `.` and `..`.
    package func filled(with captures: [String: String]) -> Topic? {
        var text = ""
        for segment in description.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init) {
            guard segment.hasPrefix("{") else {
                text += "/" + segment
                continue
            }
            // A topic that no message can carry is known to nobody else.
            guard let value = captures[String(segment.dropFirst().dropLast())], value.fitsIntoMessage,
                !value.utf8.contains(UInt8(ascii: "/")), ![".", ".."].contains(value)
            else { return nil }
            text += "/" + value
        }
        do throws(TopicError) { return try Topic(text) } catch { return nil }
    }
}
