/**
 * The `ws` library on a plain HTTP server: keeps WebSockets, with a challenge and a welcome of the size of ours. No proof, names or
 * store; other messages are dropped.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebSocket } from 'ws';
import { WebSocketServer } from '../../src/lib/connections/web-socket-library.ts';
import { sessionKeyLength } from '../../src/lib/session-key.ts';
import { signalMessageBytesMax } from '../../src/model/limits.ts';
import { encodeChallenge, encodeWelcome } from '../../src/protocol/signal/server-message.ts';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';

const challenge = encodeChallenge('k'.repeat(sessionKeyLength));
const welcome = encodeWelcome({
  epoch: 1,
  heartbeat_s: 30,
  server_time: 1_763_712_000,
  sleep: {
    servers: ['127.0.0.1:40000'],
    heartbeat_s: 50,
    heartbeat_bytes: 64,
    wake_pattern: '983b16f8f39c',
    wakeup_packet: '983b16f8f39c0000',
    retry: { min_s: 2, max_s: 300, jitter: 0.5 },
  },
  media: { url: 'ws://127.0.0.1:40001' },
});

function sendWelcome(this: WebSocket): void {
  this.send(welcome);
}

async function listen(): Promise<PeerPorts> {
  const server = createServer();
  // The library keeps its sockets in a Set.
  new WebSocketServer({ server, maxPayload: signalMessageBytesMax, perMessageDeflate: false }).on(
    'connection',
    (socket) => {
      socket.once('message', sendWelcome);
      socket.send(challenge);
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { httpPort: 0, devicePort: (server.address() as AddressInfo).port };
}

answerAsPeer(listen);
