import Systemd
import WindowRules

/// The windows of a compositor, of which a program inside of it tells over the bus.
final class CompositorSource: WindowSource {
    /// Microseconds until a compositor counts as one that tells nothing.
    private static let patience: Int64 = 3_000_000

    private let interface: CompositorInterface
    private let report: (SourceReport) -> Void
    private let advice: String
    private var reported: ReportedWindows?
    private var update: EventSource?
    private var deadline: EventSource?
    private let script: KWinScript?

    /// - Parameters:
    ///   - owner: the unique name of the compositor.
    ///   - advice: what to do if it tells nothing.
    ///   - script: makes it tell; `nil` if something in it does that by itself.
    init(
        owner: String, interface: CompositorInterface, advice: String, script: KWinScript? = nil, loop: EventLoop,
        report: @escaping (SourceReport) -> Void
    ) throws(SourceFailure) {
        self.interface = interface
        self.advice = advice
        self.script = script
        self.report = report
        do throws(SystemdError) {
            // What comes at once is told at once.
            update = try loop.deferred { [unowned self] in
                if let reported { report(.windows(reported.windows)) }
            }
            deadline = try loop.timer(.monotonic) { [unowned self] in
                if reported == nil { report(.blind(advice)) }
            }
        } catch {
            throw SourceFailure("\(error)")
        }
        interface.listener = (owner, { [weak self] in self?.take($0) })
        interface.askForAll()
        deadline?.arm(at: Clock.monotonic() + Self.patience)
    }

    private func take(_ statement: CompositorInterface.Statement) {
        switch statement {
        case .begin: reported = ReportedWindows()
        case .end:
            reported = nil
            return report(.blind(advice))
        case .gone(let id): reported?.remove(id)
        case .window(let id, let app, let instance, let title, let isFocused, let isVisible):
            reported?.set(
                id, app: app, instance: instance, title: title, isFocused: isFocused, isVisible: isVisible)
        }
        update?.trigger()
    }
}
