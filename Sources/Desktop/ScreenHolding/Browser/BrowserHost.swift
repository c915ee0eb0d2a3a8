import Glibc
import NotifyText
import Routing
package import Systemd
import TOMLTables
package import Watching

/// The host of a browser: takes the tabs in front, holds their screens, and tells what it holds.
///
/// It has a connection to the bus of its own, so that its screens end with the browser.
package final class BrowserHost {
    private let loop: EventLoop
    private let input: CInt
    private let holder: ScreenHolder
    private var reader = FrameReader()
    private var readable: EventSource?
    private var writer: FrameWriter?
    private var rules: RulesFile
    private var pages = PageCache()
    /// What was read. Memory that nothing was written to is not taken, so that it needs as much as the longest message
    /// has had.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 + FrameReader.longest, alignment: 1)
    /// `nil` until the browser has sent its tabs.
    private var tabs: [Tab]?
    private var decisions: [TabDecision] = []
    /// Messages that were not understood.
    private var passedOver = 0
    /// The last report.
    private var told: [UInt8] = []
    /// Goes off when a report has waited for long enough.
    private var reportTimer: EventSource?
    private var isWaiting = false
    /// Until when reports wait after the last one; microseconds of the monotonic clock.
    private var quietUntil: Int64 = 0
    /// The longest time that a report waits, in microseconds. Each wakes the browser. notifyd answers in less than a
    /// millisecond, and a report before that would be out of date at once; so would one for each of many tabs that
    /// somebody passes on the way to another.
    private static let longestWait: Int64 = 100_000

    /// - Parameters:
    ///   - bus: attached to the loop.
    ///   - rules: the path of browser.toml.
    package init(
        loop: EventLoop, bus: BusConnection, rules: String, input: CInt, output: CInt
    ) throws(SystemdError) {
        self.loop = loop
        self.input = input
        self.rules = RulesFile(path: rules)
        holder = try ScreenHolder(on: bus, loop: loop)
        writer = try FrameWriter(output, loop: loop) { [unowned self] in end() }
        readable = try loop.input(input) { [unowned self] in read() }
        reportTimer = try loop.timer(.monotonic) { [unowned self] in sendReport() }
        holder.onChange = { [unowned self] in reportSoon() }
    }

    deinit { buffer.deallocate() }

    private func read() {
        let result = Glibc.read(input, buffer.baseAddress!, buffer.count)
        if result < 0, errno == EAGAIN || errno == EINTR { return }
        // The browser has ended, or has closed the connection.
        guard result > 0 else { return end() }
        reader.append(UnsafeRawBufferPointer(buffer)[..<result])
        do throws(FrameError) {
            while let frame = try reader.next() { handle(frame) }
        } catch {
            writeError("\(error)")
            loop.exit(EX_DATAERR)
        }
    }

    private func handle(_ frame: FrameReader.Frame) {
        do throws(FrameError) {
            switch frame {
            case .message(let message): setTabs(try TabMessage.parse(message))
            case .tooLong(let length):
                throw FrameError("a message must have at most \(FrameReader.longest) bytes; this one has \(length)")
            }
        } catch {
            passOver(error)
        }
    }

    /// What is held stays as it is. The log of the browser gets one line of it, however many messages there are.
    private func passOver(_ reason: FrameError) {
        passedOver += 1
        if passedOver == 1 { writeError("\(reason); such messages are passed over, and no more is said of them") }
        reportSoon()
    }

    private func end() {
        loop.exit(0)
    }

    private func setTabs(_ newTabs: [Tab]) {
        let haveRulesChanged = rules.refresh()
        if haveRulesChanged, let mistake = rules.mistake { writeError("\(mistake)") }
        guard haveRulesChanged || newTabs != tabs else { return }
        if haveRulesChanged { pages.empty() }
        tabs = newTabs
        decisions = newTabs.map { pages.decision(for: $0, by: rules.rules) }
        holder.want(WantedScreens(decisions))
        reportSoon()
    }

    /// Tells the extension what has changed: when notifyd has answered, and not long after the last time.
    private func reportSoon() {
        let now = Clock.monotonic()
        if !holder.isOpening, now >= quietUntil { return sendReport() }
        guard !isWaiting else { return }
        isWaiting = true
        reportTimer?.arm(at: now + Self.longestWait)
    }

    /// Tells the extension what has changed, if something has.
    private func sendReport() {
        if isWaiting { reportTimer?.disarm() }
        isWaiting = false
        guard tabs != nil || passedOver > 0 else { return }
        let report = HostReport(
            isConnected: holder.isConnected, file: rules.path,
            rules: rules.rules.sites.count + rules.rules.pages.count,
            mistake: rules.mistake?.summary, passedOver: passedOver,
            tabs: zip(tabs ?? [], decisions).map { ($0.id, $1) }, held: holder.held
        ).json.bytes
        guard report != told else { return }
        told = report
        quietUntil = Clock.monotonic() + Self.longestWait
        writer?.send(report)
    }
}

/// A line for the browser's log.
package func writeError(_ text: String) {
    let line = Array("notifyd-browser: \(text.visible(keepsLines: true))\n".utf8)
    // Without a reader there is nobody to tell.
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress!, $0.count) }
}

/// What the extension sends: the tabs in front of all windows, the focused one first.
///
///     {"version":1,"tabs":[{"id":7,"address":"https://…","topic":"/post/27","focused":true,"visible":true}]}
package enum TabMessage {
    /// Of this protocol.
    static let version = 1

    /// - Throws: `FrameError`, which says what was wrong.
    package static func parse(_ bytes: [UInt8]) throws(FrameError) -> [Tab] {
        let message: JSON
        do throws(JSONError) {
            // A page may have half a surrogate pair in what it says, and must not keep other tabs from being
            // understood.
            message = try JSONParser.parse(bytes, repairsHalfPairs: true)
        } catch {
            throw FrameError("a message is not JSON: \(error)")
        }
        guard let version = message["version"]?.integer(as: Int.self) else {
            throw FrameError("a message has no 'version'; the extension of notifyd sends \(Self.version)")
        }
        guard version == Self.version else {
            throw FrameError(
                "the extension speaks version \(version), and this host version \(Self.version): update the older one")
        }
        guard let elements = message["tabs"]?.elements else {
            throw FrameError("a message has no list 'tabs'")
        }
        var tabs: [Tab] = []
        for element in elements {
            guard let id = element["id"]?.integer(as: Int.self), let address = element["address"]?.string,
                let isFocused = element["focused"]?.boolean, let isVisible = element["visible"]?.boolean
            else {
                throw FrameError("a tab has a number 'id', a text 'address', and the flags 'focused' and 'visible'")
            }
            tabs.append(
                Tab(
                    id: id, address: address, topic: element["topic"]?.string, isFocused: isFocused,
                    isVisible: isVisible))
        }
        return tabs
    }
}

extension WantedScreens {
    /// The screens of tabs, the focused ones first: there is a limit.
    package init(_ decisions: [TabDecision]) {
        self.init()
        for state in [Screen.State.focused, .visible] {
            for decision in decisions where decision.state == state {
                if let topic = decision.topic { insert(topic, state) }
            }
        }
    }
}
