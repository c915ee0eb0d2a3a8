import Mapping
import Testing

struct LevelPatternTests {
    private func captures(_ pattern: String, _ topic: String) throws -> [String]? {
        try LevelPattern(pattern).captures(of: topic)?.map { "\($0.name)=\($0.value)" }
    }

    @Test func levelsHaveNames() throws {
        let pattern = try LevelPattern("zigbee2mqtt/{room}/+/{thing}")
        #expect(pattern.filter == "zigbee2mqtt/+/+/+")
        #expect(pattern.names == ["room", "thing"])
        #expect(
            try captures("zigbee2mqtt/{room}/+/{thing}", "zigbee2mqtt/bad ö/x/door") == ["room=bad ö", "thing=door"])
        #expect(try captures("zigbee2mqtt/{room}/+/{thing}", "zigbee2mqtt/bath/x") == nil)
        #expect(try captures("zigbee2mqtt/{room}", "zigbee2mqtt/bath/x") == nil)
        #expect(try captures("{a}/b", "/b") == ["a="])
    }

    @Test func theRestIsTheLastLevel() throws {
        #expect(try captures("a/#", "a") == [])
        #expect(try captures("a/#", "a/b/c") == [])
        #expect(try captures("{a}/#", "x/y") == ["a=x"])
        #expect(try captures("a/#", "b") == nil)
        #expect(throws: MapError.self) { try LevelPattern("#/a") }
    }

    @Test func topicsOfTheBrokerAreNotMeant() throws {
        #expect(try captures("#", "$SYS/uptime") == nil)
        #expect(try captures("{a}/uptime", "$SYS/uptime") == nil)
        #expect(try captures("$SYS/{what}", "$SYS/uptime") == ["what=uptime"])
    }

    @Test(arguments: ["", "a/{b}/{b}", "a/b+", "a/{}", "a/{1}", "a/x{b}", "a\u{7}", "a/#b"])
    func whatIsNoFilterIsRefused(_ text: String) {
        #expect(throws: MapError.self) { try LevelPattern(text) }
    }

    @Test(arguments: [
        ("a/+", "a/b", true), ("a/+", "a/b/c", false), ("a/#", "a", true), ("#", "x/y", true), ("a/{x}", "{y}/b", true),
        ("a/b", "a/c", false), ("+/1/x", "notifyd/1/#", true), ("a/#", "b/#", false), ("a", "a/b", false),
        ("#", "$SYS/x", false), ("$SYS/#", "$SYS/x", true),
    ])
    func overlapsAreFound(_ left: String, _ right: String, _ isTrue: Bool) throws {
        #expect(try LevelPattern(left).overlaps(LevelPattern(right)) == isTrue)
        #expect(try LevelPattern(right).overlaps(LevelPattern(left)) == isTrue)
    }

    @Test(arguments: [
        ("a/+", "a/b", true), ("a/b", "a/+", false), ("a/#", "a", true), ("a/#", "a/{x}/b", true),
        ("a/+", "a/#", false),
        ("+/b", "a/+", false), ("#", "a/#", true), ("a/#", "#", false), ("a/+", "a/{x}", true), ("a/+", "a", false),
        ("#", "$SYS/x", false), ("a", "a", true), ("a/+", "b/x", false),
    ])
    func aFilterCoversThoseWithinIt(_ left: String, _ right: String, _ isTrue: Bool) throws {
        #expect(try LevelPattern(left).covers(LevelPattern(right)) == isTrue)
    }
}
