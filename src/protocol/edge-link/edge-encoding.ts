/**
 * Messages between an edge and its core to bytes. A greeting is a map, which any version can read; every other message is
 * a list: the number of its kind, then its fields.
 */
import { packPlain } from '../../lib/plain-msgpack.ts';
import type { BroughtSession, CoreMessage, EdgeMessage } from './edge-message.ts';

type Fields = readonly unknown[];
export type SentByEdge = Exclude<EdgeMessage, { kind: 'unfit' }>;

export const edgeKinds = {
  heartbeat: 0,
  admit: 1,
  ended: 2,
  heartbeats: 3,
  woken: 4,
  counts: 5,
  tally: 6,
  log: 7,
  drained: 8,
  'tls-reloaded': 9,
  listening: 10,
  bring: 11,
  brought: 12,
  probed: 13,
} as const;

export const coreKinds = {
  heartbeat: 0,
  admitted: 1,
  refused: 2,
  wake: 3,
  close: 4,
  drain: 5,
  'reload-tls': 6,
  probe: 7,
  balance: 8,
} as const;

export function encodeEdgeMessage(message: SentByEdge): Buffer {
  return packPlain(message.kind === 'hello' ? message : edgeFields(message));
}

function edgeFields(message: Exclude<EdgeMessage, { kind: 'hello' | 'unfit' }>): Fields {
  const kind = edgeKinds[message.kind];
  switch (message.kind) {
    case 'heartbeat':
    case 'brought':
    case 'probed':
      return [kind];
    case 'admit': {
      const { number, line, sessionKey, hasRoom, address } = message;
      return [kind, number, line, sessionKey, hasRoom, address];
    }
    case 'ended':
      return [kind, message.number, message.reason, message.lastHeartbeatAt];
    case 'heartbeats':
      return [kind, message.at, packNumbers(message.numbers)];
    case 'woken':
      return [kind, message.ask, message.result];
    case 'counts': {
      const { sessions, handshakes, waiting, sockets } = message.counts;
      return [kind, sessions, handshakes, waiting, sockets];
    }
    case 'tally': {
      const { logins, ends, wakeupWriteSeconds } = message.tally;
      return [kind, logins, ends, wakeupWriteSeconds];
    }
    case 'log':
      return [kind, message.level, message.fields, message.message];
    case 'drained':
      return [kind, message.ask, message.left];
    case 'tls-reloaded':
      return [kind, message.ask, message.problem];
    case 'listening':
      return [kind, message.address.host, message.address.port];
    case 'bring':
      return [kind, message.sessions.map(rowOf)];
  }
}

function rowOf(session: BroughtSession): Fields {
  const { number, deviceId, sessionId, epoch, wakeMode, secretMark, lastHeartbeatAt, endedBy } = session;
  return [number, deviceId, sessionId, epoch, wakeMode, secretMark, lastHeartbeatAt, endedBy];
}

export const numberBytes = 4;

function packNumbers(numbers: Uint32Array): Buffer {
  const packed = Buffer.allocUnsafe(numbers.length * numberBytes);
  for (const [at, number] of numbers.entries()) packed.writeUInt32LE(number, at * numberBytes);
  return packed;
}

export function encodeCoreMessage(message: CoreMessage): Buffer {
  const isGreeting = message.kind === 'hello' || message.kind === 'declined';
  return packPlain(isGreeting ? message : coreFields(message));
}

function coreFields(message: Exclude<CoreMessage, { kind: 'hello' | 'declined' }>): Fields {
  const kind = coreKinds[message.kind];
  switch (message.kind) {
    case 'heartbeat':
    case 'probe':
      return [kind];
    case 'admitted':
      return [kind, message.number, message.sessionId, message.epoch, message.secretMark];
    case 'refused':
      return [kind, message.number, message.refusal];
    case 'wake':
      return [kind, message.number, message.ask, message.customData];
    case 'close':
      return [kind, message.number, message.reason];
    case 'drain':
      return [kind, message.ask, message.perSecond, message.deadlineMs];
    case 'reload-tls':
      return [kind, message.ask];
    case 'balance':
      return [kind, message.othersHaveRoom];
  }
}
