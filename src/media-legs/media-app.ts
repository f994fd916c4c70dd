/**
 * Our handlers in the library's app: one for plain connections, one for every certificate there has been. The library
 * asks a silent peer for a pong, and closes it when none comes; compression is off.
 */
import type { HttpResponse, TemplatedApp, WebSocket, WebSocketBehavior } from '../base/uws.ts';
import { legBacklogBytesMax, legSilenceSecondsMax, mediaOversizeBytesMax } from '../domain/limits.ts';
import type { Doorway } from './doorway.ts';
import type { SocketTag } from './frame-socket.ts';

export interface MediaAppHouse {
  readonly doorway: Doorway;
  /** False: it is closed at once. */
  connected(): boolean;
  disconnected(): void;
}

export function furnishMediaApp(app: TemplatedApp, house: MediaAppHouse): void {
  app
    .filter((response: HttpResponse, change: number) => {
      if (change < 0) house.disconnected();
      else if (!house.connected()) response.close();
    })
    .ws('/*', behavior(house))
    .any('/*', (response, request) => house.doorway.handle(response, request, null));
}

function behavior(house: MediaAppHouse): WebSocketBehavior<SocketTag> {
  return {
    maxPayloadLength: mediaOversizeBytesMax,
    maxBackpressure: legBacklogBytesMax,
    closeOnBackpressureLimit: false,
    idleTimeout: legSilenceSecondsMax,
    maxLifetime: 0,
    sendPingsAutomatically: true,
    compression: 0,
    upgrade: (response, request, context) => house.doorway.handle(response, request, context),
    open: onOpen,
    message: onMessage,
    ping: onPing,
    close: (socket) => {
      house.disconnected();
      onClose(socket);
    },
  };
}

function onOpen(socket: WebSocket<SocketTag>): void {
  socket.getUserData().place.socket = socket;
}

function onMessage(socket: WebSocket<SocketTag>, message: ArrayBuffer, isBinary: boolean): void {
  socket.getUserData().place.owner?.received(new Uint8Array(message), isBinary);
}

function onPing(socket: WebSocket<SocketTag>): void {
  socket.getUserData().place.owner?.pinged();
}

function onClose(socket: WebSocket<SocketTag>): void {
  const { place } = socket.getUserData();
  place.socket = null;
  place.owner?.gone();
}
