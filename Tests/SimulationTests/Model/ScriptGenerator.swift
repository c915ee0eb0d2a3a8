import NotifyTestSupport
import Routing

/// Makes the script of a seed.
struct ScriptGenerator {
    private var random: SplitMix64
    private var published: [Int] = []
    private var held: [(label: Int, peer: String)] = []
    private var screens: [(label: Int, peer: String)] = []

    static func script(seed: UInt64, steps count: Int) -> Script {
        var generator = ScriptGenerator(random: SplitMix64(seed: seed))
        let setup = Setup(
            configuration: generator.random.below(World.configurations.count),
            isTight: generator.random.chance(40), serverIsThere: generator.random.chance(80))
        return Script(seed: seed, setup: setup, steps: (0..<count).map { generator.step($0) })
    }

    private init(random: SplitMix64) {
        self.random = random
    }

    private mutating func step(_ label: Int) -> Step {
        switch random.below(100) {
        case ..<25: publish(label)
        case ..<30: .claim(someEvent(), by: somebody())
        case ..<32: claimNamed()
        case ..<36: hold()
        case ..<40: confirmation()
        case ..<42: .withdraw(someEvent(), by: somebody())
        case ..<43: .pass(someEvent(), by: random.chance(70) ? somebodyWithAScreen() : somebody())
        case ..<44: .claimTopic(somePrefix(), grace: someGrace(), by: somebody())
        case ..<45: .markRead(somePrefix(), upTo: random.chance(70) ? someEvent() : nil, by: somebody())
        case ..<46: .forget(someEvent())
        case ..<53: screen(label)
        case ..<54:
            label % 3 == 0
                ? .identify(somebody(), as: [nil, 0, 0, 1][label % 4], hasLeft: label % 5 == 0)
                : .peerLeaves(somebody())
        case ..<57: quiet()
        case ..<60: .snooze(someEvent(), .seconds(random.pick([0, 60, 60, 61, 90, 3600, 604_801])), by: somebody())
        case ..<74: server()
        default: time()
        }
    }

    // MARK: Publishing and claiming

    private mutating func publish(_ label: Int) -> Step {
        published.append(label)
        var extras = Step.Extras()
        if random.chance(20) { extras.eventID = random.below(8) }
        if random.chance(25) { extras.collapse = random.below(2) }
        if random.chance(4) { extras.banner = random.chance(30) }
        if random.chance(12) { extras.isOwnBanner = true }
        if random.chance(6) { extras.isCritical = true }
        if random.chance(8) { extras.window = .milliseconds(random.pick([0, 1, 100, 700, 3000])) }
        if random.chance(10) { extras.lifetime = .seconds(random.pick([0, 1, 2, 10, 60])) }
        if random.chance(8) { extras.retain = random.chance(80) }
        if random.chance(3) { extras.remove = true }
        let isAboutValue = random.chance(12)
        if isAboutValue { aboutValue(&extras) }
        if random.chance(2) { extras.isNotKept = true }
        if random.chance(2) { extras.lacksFields = true }
        if random.chance(2) { extras.title = "a title that is longer than 32 bytes" }
        let topics = isAboutValue ? Array(World.topics.prefix(2)) + [World.topics[4]] : World.topics
        return .publish(label: label, topic: random.pick(topics), by: somebody(), extras)
    }

    /// Values and removals of few topics, from several places with clocks of their own.
    private mutating func aboutValue(_ extras: inout Step.Extras) {
        extras.remove = random.chance(25)
        if !extras.remove { extras.retain = true }
        extras.ifNewer = random.chance(70)
        if random.chance(80) { extras.age = random.pick([0, 0, 1, 1_000_000, 60_000_000, -1_000_000]) }
        if random.chance(20) { extras.lifetime = .seconds(random.pick([0, 1, 60])) }
    }

    private mutating func claimNamed() -> Step {
        let name: Step.Naming =
            switch random.below(10) {
            case ..<7: .global(random.below(8))
            case ..<8: .next
            default: .event(someEvent())
            }
        let time: Duration? = random.chance(50) ? nil : .seconds(random.pick([0, 61, 3600, 5_000_000]))
        return .claimNamed(name, random.pick([.claimed, .claimed] + NamedClaim.Kind.allCases), time, by: somebody())
    }

    private mutating func hold() -> Step {
        let label = someEvent()
        let peer = somebody()
        held.append((label, peer))
        return .hold(label, .milliseconds(random.pick([0, 1, 50, 150, 1000, 4000, 5001, 700_000])), by: peer)
    }

    private mutating func confirmation() -> Step {
        var (label, peer) = held.isEmpty ? (someEvent(), somebody()) : held[max(0, held.count - 1 - random.below(4))]
        if random.chance(15) { peer = somebody() }
        if random.chance(5) { label = someEvent() }
        return random.chance(50) ? .complete(label, by: peer) : .release(label, by: peer)
    }

    private mutating func someEvent() -> Int {
        if published.isEmpty || random.chance(2) { return -1 }
        return random.chance(85)
            ? published[max(0, published.count - 1 - random.below(6))] : random.pick(published)
    }

    private mutating func someGrace() -> Duration {
        .milliseconds(random.pick([0, 0, 1, 100, 2000, 10_000, 10_001]))
    }

    // MARK: Screens and quiet

    private mutating func screen(_ label: Int) -> Step {
        switch random.below(10) {
        case ..<5:
            let peer = somebody()
            screens.append((label, peer))
            return .openScreen(label: label, somePrefix(), someOptions(), by: peer)
        case ..<8:
            let (label, peer) = someScreen()
            return .updateScreen(label, someOptions(), by: peer)
        default:
            let (label, peer) = someScreen()
            return .closeScreen(label, by: peer)
        }
    }

    private mutating func someScreen() -> (Int, String) {
        guard !screens.isEmpty, !random.chance(3) else { return (-1, somebody()) }
        let (label, peer) = screens[max(0, screens.count - 1 - random.below(5))]
        return (label, random.chance(10) ? somebody() : peer)
    }

    private mutating func someOptions() -> ScreenOptions {
        var options = ScreenOptions()
        if random.chance(60) { options.mode = random.chance(70) ? .ask : .auto }
        if random.chance(50) { options.state = random.pick(Screen.State.allCases) }
        if random.chance(30) { options.lease = .seconds(random.pick([0, 1, 2, 30])) }
        if random.chance(30) { options.clear = random.chance(40) }
        return options
    }

    private mutating func quiet() -> Step {
        switch random.below(13) {
        case 12: .desktop(random.chance(50))
        case ..<2: .paused(random.chance(40))
        case ..<3: .pause(.seconds(random.pick([0, 1, 5, 60])))
        case ..<6: .mute(somePrefix(), .seconds(random.pick([0, 0, 1, 5, 60])))
        case ..<8:
            .schedules(
                (0..<random.below(4)).map { _ in
                    (
                        random.chance(30) ? .all : somePrefix(), Int64(random.below(3)),
                        .seconds(random.pick([1, 60, 3600])), random.chance(60)
                    )
                })
        case ..<10: .countDigests(random.pick([.none, .quiet, .found, .found, .found, .unkept, .outdated]))
        case ..<11: .watched(random.chance(60))
        default: .reconfigure(random.below(World.configurations.count))
        }
    }

    // MARK: The server and time

    private mutating func server() -> Step {
        switch random.below(100) {
        case ..<5: .serverAppears
        case ..<8: .serverVanishes
        case ..<16: .serverIsPrompt(random.chance(50))
        case ..<22: .callsLeave(random.chance(60))
        case ..<65: .answer(random.below(100), someAnswer())
        case ..<70: .answerStale(random.below(100), someAnswer())
        case ..<90: .closeBanner(random.below(100), random.chance(60) ? .dismissed : .other)
        default: .press(random.below(100))
        }
    }

    private mutating func someAnswer() -> Step.Answer {
        switch random.below(100) {
        case ..<60: .shown
        case ..<65: .renumbered
        case ..<68: .taken(random.below(100))
        case ..<73: .identical
        case ..<93: .error
        default: .unknownBanner
        }
    }

    private mutating func time() -> Step {
        switch random.below(100) {
        case ..<50: .wait(someTime())
        case ..<65: .stall(someTime())
        case ..<68: .sleep(.seconds(random.pick([1, 60, 3600])))
        case ..<90: .untilDue
        default: .fire
        }
    }

    private mutating func someTime() -> Duration {
        switch random.below(100) {
        case ..<70: .milliseconds(random.pick([1, 10, 50, 99, 100, 101, 250, 500]))
        case ..<92: .milliseconds(random.pick([1000, 2000, 5000, 5001]))
        case ..<96: .seconds(31)
        case ..<98: .seconds(60)
        default: .seconds(3600)
        }
    }

    // MARK: Who and what

    private mutating func somebody() -> String { random.pick(World.peers) }
    private mutating func somePrefix() -> TopicPrefix { random.pick(World.prefixes) }

    private mutating func somebodyWithAScreen() -> String {
        screens.isEmpty ? somebody() : screens[max(0, screens.count - 1 - random.below(5))].peer
    }
}
