import Foundation
import FoundationXML
import NotifyDaemon
import NotifyText

/// Text for banners. What a notification server reads as markup has no element in it, and says what was to be said; and
/// whatever is accepted as a template can be rendered.
public func fuzzText(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    let values: [ByteString: String] = ["title": choices.text(), "from": choices.text()]
    let template = choices.text()
    let text = String(decoding: choices.rest(), as: UTF8.self)
    check(text)
    guard let template = try? TextTemplate(template, names: ["from"]) else { return }
    check(template.render(values))
    check(template.render([:]))
}

private func check(_ text: String) {
    for lineBreaks in [false, true] {
        let cleaned = SafeText.cleaned(text, lineBreaks: lineBreaks)
        precondition(SafeText.cleaned(cleaned, lineBreaks: lineBreaks).hasBytes(of: cleaned), "clean text stays")
        precondition(
            cleaned.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || lineBreaks && $0 == 0x0A }, "no control is left")
        let reading = Reading()
        let parser = XMLParser(data: Data(("<b>" + cleaned.escapedMarkup + "</b>").utf8))
        parser.delegate = reading
        precondition(parser.parse(), "escaped text is well-formed")
        precondition(reading.elements == 1, "escaped text has no element")
        precondition(reading.text.hasBytes(of: cleaned), "escaped text says what was to be said")
    }
}

private final class Reading: NSObject, XMLParserDelegate {
    var elements = 0
    var text = ""

    func parser(
        _: XMLParser, didStartElement _: String, namespaceURI _: String?, qualifiedName _: String?,
        attributes _: [String: String]
    ) {
        elements += 1
    }

    func parser(_: XMLParser, foundCharacters string: String) {
        text += string
    }
}
