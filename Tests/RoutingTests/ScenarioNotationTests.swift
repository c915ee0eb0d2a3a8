import NotifyTestSupport
import Testing

/// The notation itself: a mistake is named with its line and column.
@Suite struct ScenarioNotationTests {
    private func error(_ text: String) -> ScenarioError? {
        do throws(ScenarioError) {
            _ = try Scenario(parsing: text, file: "x.timeline")
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("", 1, 1, "the title is missing"),
        ("T\na = /post/27\npublisher  (a)b", 3, 15, "ends its line"),
        ("T\npublisher  a", 2, 1, "the lane has a, but no line says"),
        ("T\na = /post/27", 2, 1, "published 0 times"),
        ("T\na = /post/27\na = /post/28\npublisher a", 3, 1, "there already, in line 2"),
        ("T\na = /post/27\npublisher  a-a", 2, 1, "published 2 times"),
        ("T\na = /post/27\npublisher  a\nbaner  -a", 4, 1, "'baner' is not a lane of banner, update"),
        ("T\na = /post/27\npublisher  a\nscreen  -aa\nscreen claims a: suppressed", 4, 1, "2 times, 1 answers"),
        ("T\na = /post/27\npublisher  -a\nscreen  a\nscreen claims a: suppressed", 4, 1, "before it is published"),
        ("T\na = /post/27\npublisher  a\nscreen claims a: suppressed", 4, 1, "no lane has 'screen claims a'"),
        ("T\na = /post/27\npublisher  a\nscreen -a\nscreen claims a: maybe", 5, 23, "an answer is one of"),
        ("T\na = /post/27\nms  0  10\npublisher  a", 3, 1, "the ruler is wrong: column 3 is 30ms"),
        ("T\nstep 10", 2, 6, "a length of time such as"),
        ("T\nstep 0ms", 2, 6, "a step takes some time"),
        ("T\na = post/27", 2, 5, "a topic such as /post/27"),
        ("T\na = /post/27 {from=\"Mina\"", 2, 26, "here '}' is expected"),
        ("T\na = /post/27 {from=\"Mina}", 2, 20, "no closing quotation mark"),
        ("T\na = /post/27 windw=1ms\npublisher  a", 2, 1, "'windw' is none of"),
        ("T\nroute /x banner=false banner=true", 2, 23, "there twice"),
        ("T\na = /p/{n} 3 times 90ms apart\npublisher  a", 2, 1, "a series needs a line such as"),
        ("T\na = /post/27\npublisher\ta", 3, 10, "this is a tab"),
        ("T\na = /post/27\n publisher a", 3, 1, "begins in its first column"),
        ("T\nserver  a", 2, 9, "'a' means nothing in this lane"),
        ("T\na = /post/27\npublisher  a\na is nice", 4, 3, "of a letter one says"),
        ("T\nb counts 2", 1, 1, "a line speaks of b"),
        ("T\nscreen holds a: suppressed", 2, 15, "here 'for' is expected"),
        ("T\na = /x\npublisher  a\nphone holds  -a", 4, 1, "'phone' holds a 1 times, 0 answers are given"),
        ("T\na = /x\npublisher  a\nphone  -a\nphone claims a: 2", 5, 1, "an event is claimed with a verdict"),
        ("T\nt = topic /x\nphone  -t\nphone claims t: recorded", 4, 1, "a topic with a number of events"),
        ("T\ns = screen on /x", 2, 1, "a screen has one lane"),
        ("T\ns = screen on /x\nphone's s  -f", 2, 1, "a screen is opened once"),
        ("T\ns = screen on /x\nphone's s  -[1", 3, 1, "no line says 's at 1: …'"),
        ("T\ns = screen on /x\nphone's s  -[x", 3, 14, "'x' means nothing in this lane"),
        ("T\ns at 1: mode=ask", 2, 1, "s is not a screen"),
        ("T\ns = screen on /x lease=200ms\nphone's s  [", 2, 1, "a lease is a whole number of seconds"),
        ("T\ns = screen on /x\nphone's s  [\npublisher  s", 4, 1, "which is a screen; here an event is expected"),
        ("T\ns = screen on /x\nphone's s  -[\ntablet closes  s", 4, 1, "before it is opened"),
        ("T\npaused  -[-[", 2, 1, "'[' and ']' take turns"),
        ("T\nlocked  -[-]", 2, 1, "is 'virtual only: …'"),
        ("T\nm = topic /x for 1500ms\nmute  m", 3, 1, "a topic is muted for whole seconds"),
    ])
    func aMistakeIsNamedWithItsPlace(_ text: String, line: Int, column: Int, reason: String) {
        let error = error(text)
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.description.hasPrefix("x.timeline:\(line):\(column): ") == true)
    }

    @Test func aLaneMayGoOnInASecondLine() throws {
        let scenario = try Scenario(
            parsing: "T\na = /x\nb = /x\npublisher  a---\npublisher  b---\n", file: "x.timeline")
        #expect(scenario.lane("publisher")?.marks.map(\.symbol) == ["a", "b"])
        #expect(scenario.lane("publisher")?.marks.map(\.column) == [0, 0])
    }
}

/// What a difference between expectation and reality looks like.
@Suite struct ComparisonTests {
    @Test func lanesAreDrawnOneBelowTheOther() throws {
        let text = """
            A claim that is expected to do more than it does

            a = /post/27
            publisher  a-------------
            screen     ------------a-
            claimed    ------------a-
            banner     ----------a---
            shown      ----------a---
            retracted  ------------a-

            screen claims a: suppressed
            """
        let scenario = try Scenario(parsing: text, file: "x.timeline")
        let differences = Comparison.differences(between: scenario, and: try VirtualStage.play(scenario))
        #expect(
            differences == [
                """
                close a came at 120 ms, unexpected
                    ms        0         100
                    expected  -------------
                    actual    ------------a
                """,
                """
                claimed a is due at 120 ms, it never came
                    ms        0         100
                    expected  ------------a
                    actual    -------------
                """,
                "screen claims a: retracted; expected is suppressed",
            ])
    }

    @Test func nothingMayComeEarlyHoweverMuchIsTolerated() throws {
        let text = "T\na = /post/27\npublisher  a\nbanner     -----------a\nshown      -----------a"
        let scenario = try Scenario(parsing: text, file: "x.timeline")
        let recording = try VirtualStage.play(scenario)
        let differences = Comparison.differences(between: scenario, and: recording, tolerance: .seconds(1))
        #expect(differences.count == 2)
        #expect(differences.first?.hasPrefix("banner a is due at 110 ms, it came at 100 ms") == true)
    }
}

/// Every scenario of `Tests/Scenarios` in virtual time, against the router alone.
@Suite struct ScenarioTests {
    /// Without a file the tests below would be skipped, and nobody would notice.
    @Test func thereAreScenarios() {
        #expect(ScenarioFiles.names.count > 100)
    }

    @Test(arguments: ScenarioFiles.names)
    func scenarioHolds(_ file: String) throws {
        let scenario = try ScenarioFiles.read(file)
        let recording = try VirtualStage.play(scenario)
        let differences = Comparison.differences(between: scenario, and: recording)
        for difference in differences { Issue.record("\(scenario.title)\n\(difference)") }
    }
}
