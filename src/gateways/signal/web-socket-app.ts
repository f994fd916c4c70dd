/**
 * Our handlers in an app of the library.
 * Everything that the library would do by itself beside frames is off: timeouts, pings, compression.
 */
import type { HttpResponse, TemplatedApp, WebSocket, WebSocketBehavior } from '../../lib/uws.ts';
import { signalBackpressureBytesMax, signalFrameBytesMax } from '../../model/limits.ts';
import type { Doorway } from './doorway.ts';
import { socketEnd, type FrameSocket, type SocketTag } from './frame-socket.ts';

export interface WebSocketAppHouse {
  readonly doorway: Doorway;
  /** False: it is closed at once. */
  connected(response: HttpResponse): boolean;
  /** A connection that was never upgraded is gone. */
  disconnected(): void;
  opened(socket: FrameSocket, tag: SocketTag): void;
}

export function furnishWebSocketApp(app: TemplatedApp, house: WebSocketAppHouse): void {
  const { doorway } = house;
  app
    .filter((response, change) => {
      if (change < 0) house.disconnected();
      else if (!house.connected(response)) response.close();
    })
    .ws('/*', behavior(house))
    .any('/*', (response, request) => doorway.refuse(response, request));
}

function behavior(house: WebSocketAppHouse): WebSocketBehavior<SocketTag> {
  return {
    maxPayloadLength: signalFrameBytesMax,
    maxBackpressure: signalBackpressureBytesMax,
    closeOnBackpressureLimit: false,
    idleTimeout: 0,
    maxLifetime: 0,
    sendPingsAutomatically: false,
    compression: 0,
    upgrade: (response, request, context) => house.doorway.upgrade(response, request, context),
    open: (socket) => house.opened(socket, socket.getUserData()),
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
