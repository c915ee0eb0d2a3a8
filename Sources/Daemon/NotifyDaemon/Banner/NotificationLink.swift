import Routing
import Systemd

/// Calls to a notification server. They are asynchronous, and each gets a reply or an error.
protocol NotificationLink: AnyObject {
    /// Starts a server through the bus. `answer` gets `nil` once a server is there.
    func start(_ answer: @escaping (BusFailure?) -> Void)
    /// The id of the bus, which changes with every start of a bus.
    var bus: String { get }
    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void)
    /// - Parameters:
    ///   - text: ready to send, escaped if necessary.
    ///   - hasButtons: whether the banner gets the buttons of its route.
    ///   - answer: the banner's number; `nil` if the reply has none but is not an error.
    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void)
    /// Subscribes to the program that, beside the server, sends signals about banners of an earlier run. `answer` gets
    /// its unique name, or `nil` if there is none.
    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void)
    /// The reply is ignored.
    func close(_ banner: BannerID, at server: String)
}
