/**
 * A server as its author would write it with `ws`: default options, the heartbeat of the library's own documentation, and a session
 * for each device in a Map, found by its id. The challenge and the welcome have the size of ours; no proof and no store.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { sessionKeyLength } from '../../src/lib/session-key.ts';
import { encodeChallenge, encodeWelcome } from '../../src/protocol/signal/server-message.ts';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';

const heartbeatMs = 30_000;

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

interface Session {
  readonly socket: WebSocket;
  deviceId: string | null;
  lastSeenMs: number;
  isAlive: boolean;
}

const sessions = new Map<string, Session>();
const open = new Set<Session>();

function accept(socket: WebSocket): void {
  const session: Session = {
    socket,
    deviceId: null,
    lastSeenMs: Date.now(),
    isAlive: true,
  };
  open.add(session);
  socket.on('error', console.error);
  socket.on('pong', () => {
    session.isAlive = true;
    session.lastSeenMs = Date.now();
  });
  socket.on('message', (data: Buffer) => {
    session.lastSeenMs = Date.now();
    if (session.deviceId === null) logIn(session, data);
  });
  socket.on('close', () => {
    open.delete(session);
    if (session.deviceId !== null) sessions.delete(session.deviceId);
  });
  socket.send(challenge);
}

function logIn(session: Session, data: Buffer): void {
  const login = JSON.parse(data.toString()) as { readonly device_id: string };
  session.deviceId = login.device_id;
  sessions.set(login.device_id, session);
  session.socket.send(welcome);
}

function ping(): void {
  for (const session of open) {
    if (!session.isAlive) session.socket.terminate();
    session.isAlive = false;
    session.socket.ping();
  }
}

async function listen(): Promise<PeerPorts> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', accept);
  await once(server, 'listening');
  setInterval(ping, heartbeatMs);
  return { httpPort: 0, devicePort: (server.address() as AddressInfo).port };
}

answerAsPeer(listen);
