internal import CSystemd
import Glibc
public import Logging
import NotifyText

/// Writes log records to the systemd journal with their metadata as fields, so that
/// `journalctl --user -t notifyd NOTIFYD_TOPIC=/post/27` finds what became of a post: sd_journal_sendv(3). A metadata
/// key `event.id` becomes the field `NOTIFYD_EVENT_ID`, and `message.id` becomes `MESSAGE_ID`.
///
/// Where standard error is not connected to the journal, they are written there, one line each. On a pipe, a line
/// begins with a priority such as `<4>`; sd-daemon(3).
public struct ServiceLogHandler: LogHandler {
    private enum Destination {
        case journal, pipe, other
    }

    public var logLevel: Logger.Level = .info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private let identifier: String
    private let destination: Destination

    /// - Parameter identifier: the name of the program in the journal.
    public init(identifier: String) {
        self.identifier = identifier
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else {
            destination = .other
            return
        }
        // systemd.exec(5)
        let stream = getenv("JOURNAL_STREAM").map { String(cString: $0) }
        let isPipe = status.st_mode & S_IFMT == S_IFIFO
        destination = stream == "\(status.st_dev):\(status.st_ino)" ? .journal : isPipe ? .pipe : .other
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let (sentence, priority) = (LogText.sentence(event.message, all), LogText.priority(event.level))
        guard destination != .journal else {
            let fields = all.sorted { $0.key < $1.key }.map { "\(LogText.journalField($0.key))=\($0.value)" }
            return send(["MESSAGE=\(sentence)", "PRIORITY=\(priority)", "SYSLOG_IDENTIFIER=\(identifier)"] + fields)
        }
        let line = (destination == .pipe ? "<\(priority)>" : "") + sentence + "\n"
        line.utf8CString.withUnsafeBytes { bytes in _ = write(STDERR_FILENO, bytes.baseAddress!, bytes.count - 1) }
    }

    private func send(_ fields: [String]) {
        let vectors = fields.map { field in
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: field.utf8.count, alignment: 1)
            bytes.copyBytes(from: field.utf8)
            return iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        }
        defer { for vector in vectors { vector.iov_base.deallocate() } }
        // If the journal refuses the record, it cannot be reported.
        _ = sd_journal_sendv(vectors, CInt(vectors.count))
    }
}

/// The words of both destinations.
enum LogText {
    /// The sentence and its data as one line, without control characters.
    static func sentence(_ message: Logger.Message, _ metadata: Logger.Metadata) -> String {
        let data = metadata.filter { $0.key != "message.id" }.sorted { $0.key < $1.key }
        guard !data.isEmpty else { return "\(message)".asSingleLine.visible() }
        return ("\(message): " + data.map { "\($0.key)=\($0.value)" }.joined(separator: " ")).asSingleLine.visible()
    }

    /// The priorities of syslog(3).
    static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// A field's name: upper case, with our prefix, for journald takes A–Z, 0–9 and _ only.
    static func journalField(_ key: String) -> String {
        if key == "message.id" { return "MESSAGE_ID" }
        let name = key.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
        return "NOTIFYD_" + String(name)
    }
}
