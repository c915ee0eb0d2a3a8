import Routing
import Systemd

/// The calls to a notification server. None of them waits: what the server says, or the error that takes its place, comes
/// later, and comes for every call.
protocol NotificationLink: AnyObject {
    /// Has the bus start a server. The answer is `nil` once one is there.
    func start(_ answer: @escaping (BusFailure?) -> Void)
    /// Which bus it is on: another for every start of a bus.
    var bus: String { get }
    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void)
    /// - Parameters:
    ///   - text: as it is to be sent, escaped or not.
    ///   - hasButtons: whether the banner gets the buttons of its route.
    ///   - answer: the banner's number; `nil` where the answer has none, although it is no error.
    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void)
    /// Finds out who, beside the server, tells of banners that an earlier run of the daemon has shown, and begins to listen to
    /// it; a unique name, or `nil` where there is no such program.
    func hearOldBanners(of server: String, _ answer: @escaping (String?) -> Void)
    /// Nobody waits for the answer.
    func close(_ banner: BannerID, at server: String)
}
