import Dispatch
import Routing

extension Duration {
    /// In whole microseconds.
    var interval: DispatchTimeInterval { .microseconds(Int(clamping: microseconds)) }
}
