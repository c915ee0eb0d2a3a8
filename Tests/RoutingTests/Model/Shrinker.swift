/// Makes a failing script short: drops every run of steps without which it still fails.
enum Shrinker {
    static func shrink(_ script: Script, attempts: Int = 4000) -> Script {
        var best = script
        var left = attempts
        if let failure = ModelRunner.run(best).failure { best.steps = Array(best.steps.prefix(failure.step + 1)) }
        if ModelRunner.run(best).failure == nil { best = script }
        var size = best.steps.count / 2
        while size > 0, left > 0 {
            var hasShrunk = false
            var start = 0
            while start < best.steps.count, left > 0 {
                var shorter = best
                shorter.steps.removeSubrange(start..<min(start + size, best.steps.count))
                left -= 1
                if ModelRunner.run(shorter).failure != nil {
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
