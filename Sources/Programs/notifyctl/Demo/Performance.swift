import ArgumentParser
import NotifyJSON

/// What has happened in a scene of a demo: it can be drawn, and checked.
protocol PlayedScene {
    var title: String { get }
    var timeline: Timeline { get }
    /// What did not go as it should.
    var flaws: [String] { get }
    var json: JSON { get }
}

/// Shows scenes as they are played, and says at the end whether all went as they should.
final class Performance {
    private let output: OutputOptions
    private var scenes: [any PlayedScene] = []

    init(_ output: OutputOptions) {
        self.output = output
    }

    /// Prints what is for people only.
    func say(_ text: String) {
        if output.json == .off { Terminal.print(text) }
    }

    func show(_ scene: any PlayedScene) {
        scenes.append(scene)
        say(Terminal.bold("\(scenes.count). \(scene.title)"))
        for line in scene.timeline.lines() { say(line) }
        for flaw in scene.flaws { say(Terminal.red("  ✗ \(flaw)")) }
        say("")
    }

    func end() throws {
        let failures = scenes.filter { !$0.flaws.isEmpty }.count
        output.write(
            .array(scenes.map(\.json)),
            text: failures == 0
                ? Terminal.green("✓ All \(scenes.count) went as they should.")
                : Terminal.red("✗ \(failures) of \(scenes.count) did not go as they should."))
        if failures > 0 { throw ExitCode.nothing }
    }
}
