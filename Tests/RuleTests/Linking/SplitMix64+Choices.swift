import NotifyTestSupport

extension SplitMix64 {
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// True with a probability in percent.
    mutating func chance(_ percent: Int) -> Bool { percent > 0 && below(100) < percent }
}
