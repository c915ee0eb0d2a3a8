import NotifyText
import Testing
import Watching

@testable import notifyd_focus

/// Trees of i3, which does not say which windows can be seen.
@Suite struct SwayTreeTests {
    private static func windows(_ text: String) throws -> [String: Window] {
        let windows = SwayTree.windows(in: try JSONParser.parse(Array(text.utf8)))
        return Dictionary(uniqueKeysWithValues: windows.map { ($0.title, $0) })
    }

    private static func leaf(_ id: Int, _ title: String, more: String = "") -> String {
        #"{"id":\#(id),"type":"con","name":"\#(title)","window":\#(id),"nodes":[],"#
            + #""floating_nodes":[],"focus":[]\#(more),"#
            + #""window_properties":{"class":"App","instance":"app"}}"#
    }

    private static func tree(_ first: String, layout: String = "splith", floating: String = "") -> String {
        """
        {"id":1,"type":"root","focus":[2],"nodes":[
          {"id":2,"type":"output","name":"HDMI-1","layout":"output","focus":[3],"nodes":[
            {"id":3,"type":"con","name":"content","focus":[4,5],"nodes":[
              {"id":4,"type":"workspace","name":"1","layout":"\(layout)","focus":[11,10],"nodes":[\(first)],
               "floating_nodes":[\(floating)]},
              {"id":5,"type":"workspace","name":"2","layout":"splith","focus":[20],"nodes":[\(leaf(20, "elsewhere"))]}
            ]}]},
          {"id":6,"type":"output","name":"__i3","focus":[7],"nodes":[
            {"id":7,"type":"workspace","name":"__i3_scratch","focus":[],"nodes":[],
             "floating_nodes":[\(leaf(30, "scratch"))]}]}
        ]}
        """
    }

    @Test func onlyTheWorkspaceInFrontCanBeSeen() throws {
        let windows = try Self.windows(Self.tree(Self.leaf(10, "left") + "," + Self.leaf(11, "right")))
        #expect(windows.count == 4)
        #expect(windows["left"]?.isVisible == true && windows["right"]?.isVisible == true)
        #expect(windows["elsewhere"]?.isVisible == false && windows["scratch"]?.isVisible == false)
        #expect(windows["left"]?.app == "App" && windows["left"]?.instance == "app")
    }

    @Test(arguments: ["tabbed", "stacked"]) func ofTabsOneCanBeSeen(_ layout: String) throws {
        let windows = try Self.windows(
            Self.tree(
                Self.leaf(10, "left") + "," + Self.leaf(11, "right"), layout: layout,
                floating: Self.leaf(12, "floating")))
        #expect(windows["left"]?.isVisible == false && windows["right"]?.isVisible == true)
        #expect(windows["floating"]?.isVisible == true)
    }

    @Test func aWindowOnTheWholeScreenHidesTheOthers() throws {
        let whole = Self.leaf(11, "right", more: #","fullscreen_mode":1,"focused":true"#)
        let windows = try Self.windows(Self.tree(Self.leaf(10, "left") + "," + whole))
        #expect(windows["left"]?.isVisible == false)
        #expect(windows["right"]?.isVisible == true && windows["right"]?.isFocused == true)
    }

    @Test func aBarIsNoWindow() throws {
        let bar = #"{"id":9,"type":"dockarea","layout":"dockarea","nodes":[\#(Self.leaf(11, "i3bar"))]}"#
        let windows = try Self.windows(Self.tree(Self.leaf(10, "left") + "," + bar))
        #expect(windows["i3bar"] == nil && windows["left"] != nil)
    }
}
