/// Makes a failing script short: drops every run of steps without which it still fails.
enum Shrinker {
    static func shrink<Step>(_ steps: [Step], attempts: Int = 4000, fails: ([Step]) -> Bool) -> [Step] {
        var best = steps
        var left = attempts
        var size = best.count / 2
        while size > 0, left > 0 {
            var hasShrunk = false
            var start = 0
            while start < best.count, left > 0 {
                var shorter = best
                shorter.removeSubrange(start..<min(start + size, best.count))
                left -= 1
                if fails(shorter) {
                    best = shorter
                    hasShrunk = true
                } else {
                    start += size
                }
            }
            if !hasShrunk || size > 1 { size /= 2 }
        }
        return best
    }
}
