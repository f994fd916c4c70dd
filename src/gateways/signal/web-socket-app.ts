/**
 * Our handlers in an app of the library.
 * Everything that the library would do by itself beside frames is off: timeouts, pings, compression.
 */
import type { HttpResponse, TemplatedApp, WebSocket, WebSocketBehavior } from '../../lib/uws.ts';
import { signalBackpressureBytesMax, signalFrameBytesMax } from '../../model/limits.ts';
import type { UpgradeHandler } from './upgrade-handler.ts';
import { socketEnd, type FrameSocket, type SocketTag } from './frame-socket.ts';

export interface WebSocketAppDeps {
  readonly upgradeHandler: UpgradeHandler;
  /** False: it is closed at once. */
  connected(response: HttpResponse): boolean;
  /** A connection that was never upgraded is gone. */
  disconnected(): void;
  opened(socket: FrameSocket, tag: SocketTag): void;
}

export function furnishWebSocketApp(app: TemplatedApp, deps: WebSocketAppDeps): void {
  const { upgradeHandler } = deps;
  app
    .filter((response, change) => {
      if (change < 0) deps.disconnected();
      else if (!deps.connected(response)) response.close();
    })
    .ws('/*', behavior(deps))
    .any('/*', (response, request) => upgradeHandler.refuse(response, request));
}

function behavior(deps: WebSocketAppDeps): WebSocketBehavior<SocketTag> {
  return {
    maxPayloadLength: signalFrameBytesMax,
    maxBackpressure: signalBackpressureBytesMax,
    closeOnBackpressureLimit: false,
    idleTimeout: 0,
    maxLifetime: 0,
    sendPingsAutomatically: false,
    compression: 0,
    upgrade: (response, request, context) => deps.upgradeHandler.upgrade(response, request, context),
    open: (socket) => deps.opened(socket, socket.getUserData()),
    message: onMessage,
    ping: onPing,
    pong: onPong,
    close: onClose,
  };
}

function onMessage(socket: WebSocket<SocketTag>, message: ArrayBuffer, isBinary: boolean): void {
  socket.getUserData().owner?.received(new Uint8Array(message), isBinary);
}

function onPing(socket: WebSocket<SocketTag>): void {
  socket.getUserData().owner?.pinged();
}

function onPong(socket: WebSocket<SocketTag>): void {
  socket.getUserData().owner?.ponged();
}

function onClose(socket: WebSocket<SocketTag>, code: number, message: ArrayBuffer): void {
  socket.getUserData().owner?.gone(socketEnd(code, Buffer.from(message).toString('latin1')));
}
