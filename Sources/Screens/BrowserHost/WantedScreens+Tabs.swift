import Routing
package import ScreenHolding
package import TabRules

extension WantedScreens {
    /// The screens of tabs, the focused ones first: there is a limit.
    package init(_ decisions: [TabDecision]) {
        self.init()
        for state in [Screen.State.focused, .visible] {
            for decision in decisions where decision.state == state {
                if let topic = decision.topic { insert(topic, state) }
            }
        }
    }
}
