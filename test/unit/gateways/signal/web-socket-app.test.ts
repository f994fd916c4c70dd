import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  furnishWebSocketApp,
  type SocketEnd,
  UpgradeHandler,
} from '../../../../src/gateways/signal/web-socket-app.ts';
import { anyConnections } from '../../../support/fake-http.ts';
import type { TemplatedApp, WebSocketBehavior } from '../../../../src/lib/uws.ts';

type Close = (socket: unknown, code: number, message: ArrayBuffer) => void;

/** The reason that a socket's owner is told when the library closes it so. */
function socketEnd(code: number, message: string): SocketEnd | null {
  let close: Close = () => undefined;
  const app = {
    filter: () => app,
    any: () => app,
    ws: (_path: string, behavior: WebSocketBehavior<unknown>) => {
      close = behavior.close as unknown as Close;
      return app;
    },
  };
  const upgradeHandler = new UpgradeHandler({
    addressOf: () => '',
    admitsHandshake: () => true,
  });
  furnishWebSocketApp(app as unknown as TemplatedApp, {
    upgradeHandler,
    connections: anyConnections(),
    opened: () => undefined,
  });
  let told: SocketEnd | null = null;
  const owner = { gone: (reason: SocketEnd) => (told = reason) };
  close({ getUserData: () => ({ owner, address: '' }) }, code, new Uint8Array(Buffer.from(message)).buffer);
  return told;
}

test('any close frame is a close by the peer, whatever its code and words', () => {
  for (const code of [1000, 1001, 1005, 4000])
    assert.equal(socketEnd(code, 'Received too big message'), 'peer_closed');
});

test('the end of the stream is a close by the peer, a break is a reset, a fault of its own is malformed', () => {
  assert.equal(socketEnd(1006, 'Received TCP FIN before WebSocket close frame'), 'peer_closed');
  assert.equal(socketEnd(1006, ''), 'reset');
  for (const fault of [
    'Received too big message',
    'Received invalid UTF-8',
    'Received invalid WebSocket frame',
  ])
    assert.equal(socketEnd(1006, fault), 'malformed');
});
