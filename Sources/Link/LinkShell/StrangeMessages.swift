import Linking
import Logging

/// Tells of messages that do not belong on a line, once for each kind: whoever sends them must not fill the log.
struct StrangeMessages {
    private enum Kind: CaseIterable {
        case forged, malformed, refused, devices

        func count(_ statistics: LinkStatistics) -> Int {
            switch self {
            case .forged: statistics.forged
            case .malformed: statistics.malformed
            case .refused: statistics.refused
            case .devices: statistics.devicesRefused
            }
        }

        var text: Logger.Message {
            switch self {
            case .forged:
                """
                Messages on the broker cannot be opened, speak for somebody else, or were moved; they are passed over. Another key, or a \
                stranger?
                """
            case .malformed: "Messages on the broker cannot be read; they are passed over"
            case .refused: "Somebody on the line says more than is taken at once; the rest is taken later"
            case .devices:
                "More devices are on the line, or of one member, than are taken; what the others say is passed over"
            }
        }
    }

    private var told: Set<Kind> = []

    /// Logs what is new.
    mutating func note(_ statistics: LinkStatistics, line: String, _ logger: Logger) {
        for kind in Kind.allCases where kind.count(statistics) > 0 && told.insert(kind).inserted {
            logger.warning(kind.text, metadata: ["line": "\(line)"])
        }
    }
}
