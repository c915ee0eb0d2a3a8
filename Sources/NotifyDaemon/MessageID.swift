/// Names for kinds of log records that stay the same for good, so that `journalctl MESSAGE_ID=…` finds them whatever their
/// wording; made with `systemd-id128 new`.
enum MessageID: String, CustomStringConvertible {
    case started = "2cd6197934594ca688248169582986bd"
    case stopping = "c05196b8cd4b4745853631bb9d1c7553"
    case reloaded = "68e07601f5554b28be0e7fa8eb88f8dd"
    case badConfiguration = "6b34c8c92c304dfeafbaaa2f00f88380"
    case busLost = "2f922c445f464ac1ba2e39be537f04d4"
    case server = "258a674bfd294b42bfb139aa7e5f3f33"
    case noServer = "8c9d1397a8ef41e1b1d22ba4adcecc46"
    case bannerFailed = "25e10dd8f7234faaaaae7fa2d500e569"
    case event = "5b326d675ebb45fd88298bc14d704b16"
    case outcome = "916f8746e59748ae97416b9670ec894d"
    case attention = "3f567bbc9ce44354ae4e1e61cb9d3f59"
    case storage = "db5154fd82c044508d3f39c9bb348fdc"
    case caller = "b808aff46986455ea495d177b8bcf5e0"
    case denied = "cb530686c42341eda34e73c81bab0948"
    case action = "faedde699b85493e8cb76738a05a948e"

    var description: String { rawValue }
}
