import NotifyTestSupport
import Testing

/// The notation itself: it is read as it is printed, and a mistake is named with its line and column.
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
        ("T\na = /post/27\npublisher  a\nbaner  -a", 4, 1, "'baner' is no lane of banner, update"),
        ("T\na = /post/27\npublisher  a\nscreen  -aa\nscreen claims a: suppressed", 4, 1, "2 times, 1 verdicts"),
        ("T\na = /post/27\npublisher  -a\nscreen  a\nscreen claims a: suppressed", 4, 1, "before it is published"),
        ("T\na = /post/27\npublisher  a\nscreen claims a: suppressed", 4, 1, "no lane has screen claim a"),
        ("T\na = /post/27\npublisher  a\nscreen -a\nscreen claims a: maybe", 5, 23, "a verdict is one of"),
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
        ("T\na = /post/27\npublisher  a\na is nice", 4, 3, "of an event one says"),
        ("T\nb counts 2", 1, 1, "a line speaks of b"),
    ])
    func aMistakeIsNamedWithItsPlace(_ text: String, line: Int, column: Int, reason: String) {
        let error = error(text)
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.description.hasPrefix("x.timeline:\(line):\(column): ") == true)
    }

    @Test func everyPartOfTheNotationIsPrintedAsItIsRead() throws {
        let text = """
            Everything there is

            step 5ms
            window 1500ms
            max_per_second 3
            virtual only: it is only here to be read
            real-time events 7
            route /quiet/{id} banner=false window=2s coalesce=none
            a = /post/27 {from="Mina" distance=5000 far=true} window=0ms source="chat"
            b = /post/{n} 667 times 90ms apart ttl=12h
            c = /post/28

            ms           0         50
            server       +---x---~---!
            publisher    a-----------!
            publisher-2  -bc----------
            phone        -a-?---------
            banner       ---a------(ac)

            phone claims a: recorded
            phone claims ?: unknown
            a counts 2
            c repeats a
            c is refused: InvalidEvent
            a stays undecided
            each b shown within 500ms, 6 to a banner, updated in place

            """
        let scenario = try Scenario(parsing: text, file: "x.timeline")
        #expect(scenario.description == text)
        #expect(try Scenario(parsing: scenario.description, file: "x.timeline") == scenario)
    }

    @Test func aLaneMayGoOnInASecondLine() throws {
        let scenario = try Scenario(
            parsing: "T\na = /x\nb = /x\npublisher  a---\npublisher  b---\n", file: "x.timeline")
        #expect(scenario.lane("publisher")?.marks.map(\.symbol) == ["a", "b"])
        #expect(scenario.lane("publisher")?.marks.map(\.column) == [0, 0])
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func randomLanesAreDrawnAsTheyAreRead(_ seed: UInt64) throws {
        var scenario = Scenario.random(seed: seed)
        // Claimants would need verdicts, which nobody knows beforehand.
        scenario.lanes.removeAll { $0.role == .claimant }
        #expect(try Scenario(parsing: scenario.description, file: "seed \(seed)") == scenario)
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
