/**
 * uWebSockets.js with nothing around it, holding WebSockets: the limits of ours, a challenge and a welcome of the
 * size of ours, and no proof, no names, no store. It throws away what else arrives.
 */
import type { WebSocket } from 'uWebSockets.js';
import { createApp, listenExclusively } from '../../src/lib/uws.ts';
import { sessionKeyLength } from '../../src/lib/session-key.ts';
import { signalBackpressureBytesMax, signalMessageBytesMax } from '../../src/model/limits.ts';
import { encodeChallenge, encodeWelcome } from '../../src/protocol/signal/server-message.ts';
import { answerAsPeer, type PeerPorts } from '../load/peer-protocol.ts';

/** False: it has not said anything yet. */
interface Tag {
  isWelcome: boolean;
}

const challenge = encodeChallenge('k'.repeat(sessionKeyLength));
const welcome = encodeWelcome({
  epoch: 1,
  heartbeatSeconds: 30,
  serverTime: 1_763_712_000,
  sleep: {
    servers: ['127.0.0.1:40000'],
    heartbeatSeconds: 50,
    heartbeatBytes: 64,
    wakePattern: '983b16f8f39c',
    wakeupPacket: '983b16f8f39c0000',
    retry: { minSeconds: 2, maxSeconds: 300, jitter: 0.5 },
  },
  mediaUrl: 'ws://127.0.0.1:40001',
});
const sockets = new Set<WebSocket<Tag>>();

function onOpen(socket: WebSocket<Tag>): void {
  sockets.add(socket);
  socket.getUserData().isWelcome = false;
  socket.send(challenge);
}

function onMessage(socket: WebSocket<Tag>): void {
  const tag = socket.getUserData();
  if (tag.isWelcome) return;
  tag.isWelcome = true;
  socket.send(welcome);
}

function onClose(socket: WebSocket<Tag>): void {
  sockets.delete(socket);
}

async function listen(): Promise<PeerPorts> {
  const app = createApp().ws<Tag>('/*', {
    maxPayloadLength: signalMessageBytesMax,
    maxBackpressure: signalBackpressureBytesMax,
    closeOnBackpressureLimit: false,
    idleTimeout: 0,
    maxLifetime: 0,
    sendPingsAutomatically: false,
    compression: 0,
    open: onOpen,
    message: onMessage,
    close: onClose,
  });
  const { port } = await listenExclusively(app, '127.0.0.1', 0);
  return { httpPort: 0, devicePort: port };
}

answerAsPeer(listen);
