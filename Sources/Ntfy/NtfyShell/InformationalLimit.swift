import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Ends a connection that says more informational answers (1xx) than a request can need. The HTTP client passes over
/// any number of them, until its time for the answer is over.
final class InformationalLimit: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// Too many informational answers have come.
    struct Exceeded: Error {}

    /// A server says one at most; a proxy on the way may say some.
    private static let maximum = 16

    private var count = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard (100..<200).contains(head.status.code) else {
            count = 0
            return context.fireChannelRead(data)
        }
        count += 1
        if count <= Self.maximum { return context.fireChannelRead(data) }
        // Those that were read together with it are passed over.
        guard count == Self.maximum + 1 else { return }
        context.fireErrorCaught(Exceeded())
        context.close(promise: nil)
    }
}

extension HTTPClient.Configuration {
    /// Ends connections that say nothing but informational answers.
    mutating func limitInformational() {
        http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(InformationalLimit(), position: .after(decoder))
            }
        }
    }
}
