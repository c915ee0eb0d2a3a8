import NotifyClient

extension Scenario {
    /// The scenario drawn wider: its times are multiplied, so that larger delays, of a slow program or of a busy
    /// machine, stay below one column. A scenario that depends on a time of the daemon's own, such as the number of
    /// banners in a second, is not changed.
    package func drawn(wider factor: Int) throws -> Scenario {
        guard factor > 1 else { return self }
        let stretched = stretched(by: factor)
        let recording = try VirtualStage.play(stretched)
        return Comparison.differences(between: stretched, and: recording).isEmpty ? stretched : self
    }

    private func stretched(by factor: Int) -> Scenario {
        var scenario = self
        scenario.settings.step *= factor
        scenario.settings.window *= factor
        scenario.routes.changeEach { $0.attributes.stretch(by: factor) }
        scenario.events.changeEach { event in
            event.options.stretch(by: factor)
            event.series?.apart *= factor
        }
        scenario.screens.changeEach { screen in
            screen.options.stretch(by: factor)
            screen.changes.changeEach { $0.options.stretch(by: factor) }
        }
        scenario.topics.changeEach { $0.time? *= factor }
        scenario.answers.changeEach { $0.time? *= factor }
        scenario.remarks.changeEach { remark in
            guard case .each(let symbol, var fate) = remark else { return }
            switch fate.delay {
            case .after(let length): fate.delay = .after(length * factor)
            case .within(let length): fate.delay = .within(length * factor)
            }
            remark = .each(symbol, fate)
        }
        return scenario
    }
}

extension Array {
    fileprivate mutating func changeEach(_ body: (inout Element) -> Void) {
        for index in indices { body(&self[index]) }
    }
}

extension [Attribute] {
    fileprivate mutating func stretch(by factor: Int) {
        changeEach { attribute in
            if case .duration(let length) = attribute.value { attribute.value = .duration(length * factor) }
        }
    }
}
