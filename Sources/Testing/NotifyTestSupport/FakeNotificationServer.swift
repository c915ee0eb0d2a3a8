internal import Routing

/// A notification server without a bus: it numbers and stores banners, and can be absent, refuse or hang.
struct FakeNotificationServer {
    private(set) var state: Lane.ServerState
    /// The newest event behind each banner.
    private(set) var banners: [BannerID: Occurrence] = [:]
    private var lastID: UInt32 = 0
    /// What a hanging server was asked and has not answered.
    private(set) var unanswered: [(request: BannerRequest, newest: Occurrence, givenUpAt: Duration)] = []

    init(state: Lane.ServerState) {
        self.state = state
    }

    /// After a restart ids begin at 1.
    mutating func become(_ state: Lane.ServerState) {
        if state == .absent || self.state == .absent { self = FakeNotificationServer(state: state) }
        self.state = state
    }

    /// Answers a request, or keeps it.
    mutating func show(_ request: BannerRequest, newest: Occurrence, givenUpAt: Duration) -> Happening? {
        switch state {
        case .well:
            if request.replaces == nil { lastID += 1 }
            let id = request.replaces ?? BannerID(lastID)
            banners[id] = newest
            return .banner(request.call, .shown(id))
        case .refusing:
            return .banner(request.call, .failed(.noAnswer))
        case .hanging:
            unanswered.append((request, newest, givenUpAt))
            return nil
        case .absent:
            return nil
        }
    }

    mutating func takeUnanswered(givenUpBy time: Duration = .seconds(1 << 40)) -> [(BannerRequest, Occurrence)] {
        defer { unanswered.removeAll { $0.givenUpAt <= time } }
        return unanswered.filter { $0.givenUpAt <= time }.map { ($0.request, $0.newest) }
    }

    mutating func close(_ id: BannerID) {
        banners[id] = nil
    }

    func banner(of symbol: Symbol) -> BannerID? {
        banners.filter { $0.value.symbol == symbol }.keys.max { $0.rawValue < $1.rawValue }
    }
}
