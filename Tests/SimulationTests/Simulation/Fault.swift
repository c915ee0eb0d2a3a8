import NotifyTestSupport
import Routing

/// What can go wrong around the daemon, beyond what clients and the notification server do in a script of the model.
enum Fault: Sendable {
    /// The daemon is killed, and started again after a time.
    case kill(down: Duration)
    /// It is killed in the middle of what it does: when it has done so many more things to the world.
    case killAfter(acts: Int)
    /// The machine stops; everybody is gone from the bus, and the clocks start again but for that of the wall.
    case powerCut(down: Duration)
    /// The daemon is told to stop, and started again.
    case stop
    /// The same, in so many calls of the disk.
    case endAtCall(Int, isPowerCut: Bool)
    case disk(SimulatedDisk.Condition)
    /// Somebody deletes the state directory.
    case filesVanish
    /// Somebody sets the wall clock.
    case clockStep(Duration)
    /// Somebody reads the history.
    case read
    /// The notification server has a new configuration.
    case serverLearns(Set<String>)
    /// The daemon is killed and started on a bus that takes no messages for a time: what it goes on with comes late.
    case killAndStall(Duration)
}

/// One step of a simulation.
struct Move: Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        case step(Step)
        case fault(Fault)
    }

    let kind: Kind
    /// Whether the daemon's loop comes to a rest before the next move, or finds both in its socket.
    let isAlone: Bool

    var description: String {
        let text: String
        switch kind {
        case .step(let step): text = "\(step)"
        case .fault(let fault): text = "\(fault)"
        }
        return isAlone ? text : text + ", and at the same time"
    }
}

/// What happens in the simulation of one seed: a script of the model, with faults between its steps.
struct Passage: Sendable, CustomStringConvertible {
    let seed: UInt64
    let setup: Setup
    var moves: [Move]

    init(seed: UInt64, steps: Int) {
        let script = ScriptGenerator.script(seed: seed, steps: steps)
        self.seed = seed
        setup = script.setup
        var generator = FaultGenerator(seed: seed)
        moves = script.steps.flatMap { generator.moves($0) }
    }

    var description: String {
        var lines = ["seed \(seed), \(setup)"]
        for (index, move) in moves.enumerated() { lines.append("  \(index): \(move)") }
        return lines.joined(separator: "\n")
    }
}

/// Says what goes wrong when. Some seeds have fair weather, some a storm.
struct FaultGenerator {
    private var random: SplitMix64
    /// Faults in a hundred steps.
    private let rate: Int
    private let haste: Int

    init(seed: UInt64) {
        random = SplitMix64(seed: seed ^ 0x5EED_0F_FA_17)
        rate = random.pick([0, 2, 5, 15])
        haste = random.pick([0, 10, 40, 80])
    }

    mutating func moves(_ step: Step) -> [Move] {
        let own = Move(kind: .step(step), isAlone: !random.chance(haste))
        guard random.chance(rate) else { return [own] }
        return [Move(kind: .fault(fault()), isAlone: !random.chance(haste)), own]
    }

    private mutating func fault() -> Fault {
        switch random.below(100) {
        case ..<7: .kill(down: someTime())
        case ..<27: .killAfter(acts: random.below(20))
        case ..<37: .endAtCall(random.below(100), isPowerCut: random.chance(60))
        case ..<45: .powerCut(down: someTime())
        case ..<49: .stop
        case ..<53: .disk(.full(room: random.pick([0, 300, 5_000, 30_000, 200_000])))
        case ..<55: .disk(.broken)
        case ..<57: .disk(.unreadable)
        case ..<59: .disk(.readOnly)
        case ..<61: .disk(.indexFails)
        case ..<68: .disk(.failsOnce)
        case ..<70: .filesVanish
        case ..<84: .disk(.well)
        case ..<88: .clockStep(.seconds(random.pick([-864_000, -3600, -1, 1, 3600, 864_000])))
        case ..<92: .read
        case ..<96: .killAndStall(.milliseconds(random.pick([1, 100, 3000])))
        default: .serverLearns(random.pick([[], ["body", "body-markup"], ["body", "actions"]]))
        }
    }

    private mutating func someTime() -> Duration {
        .milliseconds(random.pick([0, 1, 100, 3000, 60_000, 7_200_000]))
    }
}
