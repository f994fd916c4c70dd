/**
 * The bytes of the messages between an edge and its core. A greeting is a map, which any version can read; every other
 * message is a list: its kind, then its fields in the order below. Fields are checked by hand, for an edge loads no schema
 * library. Each fault is the end of a sentence about the peer.
 */
import { packPlain, unpackOwn, unpackPlain } from '../../lib/plain-msgpack.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { edgeLinkVersion, type CoreMessage, type EdgeMessage } from './edge-message.ts';
import {
  isAddress,
  isAdvertised,
  isCount,
  isCustomData,
  isEndReason,
  isEpoch,
  isLogLevel,
  isLoginResult,
  isName,
  isRefusal,
  isSecond,
  isSecretMark,
  isSentence,
  isText,
  isUint32,
  isWakeMode,
  isWakeResult,
} from './edge-fields.ts';
import {
  edgeBringSessionsMax,
  edgeHeartbeatsMax,
  edgeSessionsMax,
  edgeTallyCountMax,
  linkLogCharactersMax,
  linkTallyItemsMax,
  loginLineBytesMax,
} from '../../model/limits.ts';
import { parseDeviceId, parseSessionId } from '../../model/ids.ts';
import { sleepEndReasons, sleepRefusals } from '../../model/sleep.ts';
import type { BroughtSession, EdgeTally } from './edge-message.ts';

type Fields = readonly unknown[];
export type SentByEdge = Exclude<EdgeMessage, { kind: 'foreign' }>;
/** Null: it is no such message. */
type Read<Message> = (fields: Fields) => Message | null;

const edgeKinds = {
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

const coreKinds = {
  heartbeat: 0,
  admitted: 1,
  refused: 2,
  wake: 3,
  close: 4,
  drain: 5,
  'reload-tls': 6,
  probe: 7,
} as const;

export function encodeEdgeMessage(message: SentByEdge): Buffer {
  return packPlain(message.kind === 'hello' ? message : edgeFields(message));
}

function edgeFields(message: Exclude<EdgeMessage, { kind: 'hello' | 'foreign' }>): Fields {
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

const numberBytes = 4;

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
  }
}

const edgeReaders: Record<keyof typeof edgeKinds, Read<EdgeMessage>> = {
  heartbeat: ({ length }) => (length === 1 ? { kind: 'heartbeat' } : null),
  brought: ({ length }) => (length === 1 ? { kind: 'brought' } : null),
  probed: ({ length }) => (length === 1 ? { kind: 'probed' } : null),
  admit([, number, line, sessionKey, hasRoom, address, ...more]) {
    if (!isUint32(number) || !isText(line, loginLineBytesMax) || !isText(sessionKey, 64)) return null;
    if (typeof hasRoom !== 'boolean' || !isText(address, 128) || more.length > 0) return null;
    return { kind: 'admit', number, line, sessionKey, hasRoom, address };
  },
  ended([, number, reason, lastHeartbeatAt, ...more]) {
    if (!isUint32(number) || !isEndReason(reason) || !isSecond(lastHeartbeatAt) || more.length > 0)
      return null;
    return { kind: 'ended', number, reason, lastHeartbeatAt };
  },
  heartbeats([, at, packed, ...more]) {
    const numbers = readNumbers(packed);
    return isSecond(at) && numbers !== null && more.length === 0 ? { kind: 'heartbeats', at, numbers } : null;
  },
  woken([, ask, result, ...more]) {
    return isUint32(ask) && isWakeResult(result) && more.length === 0 ? { kind: 'woken', ask, result } : null;
  },
  counts([, sessions, handshakes, waiting, sockets, ...more]) {
    if (!isCount(sessions) || !isCount(handshakes) || !isCount(waiting) || !isCount(sockets)) return null;
    return more.length > 0 ? null : { kind: 'counts', counts: { sessions, handshakes, waiting, sockets } };
  },
  tally([, logins, ends, seconds, ...more]) {
    const isSum = (item: unknown, isLabel: (label: unknown) => boolean): boolean =>
      Array.isArray(item) && item.length === 2 && isLabel(item[0]) && isTallied(item[1]);
    if (!isList(logins, sleepRefusals.length + 1) || !logins.every((item) => isSum(item, isLoginResult)))
      return null;
    if (!isList(ends, sleepEndReasons.length) || !ends.every((item) => isSum(item, isEndReason))) return null;
    if (!isList(seconds, linkTallyItemsMax) || !seconds.every(isDuration) || more.length > 0) return null;
    return { kind: 'tally', tally: { logins, ends, wakeupWriteSeconds: seconds } as EdgeTally };
  },
  log([, level, fields, message, ...more]) {
    if (!isLogLevel(level) || !isText(fields, linkLogCharactersMax) || !isSentence(message)) return null;
    return more.length > 0 ? null : { kind: 'log', level, fields, message };
  },
  drained([, ask, left, ...more]) {
    return isUint32(ask) && isCount(left) && more.length === 0 ? { kind: 'drained', ask, left } : null;
  },
  'tls-reloaded'([, ask, problem, ...more]) {
    if (!isUint32(ask) || !(problem === null || isSentence(problem)) || more.length > 0) return null;
    return { kind: 'tls-reloaded', ask, problem };
  },
  listening([, host, port, ...more]) {
    const address = { host, port };
    return isAddress(address) && more.length === 0 ? { kind: 'listening', address } : null;
  },
  bring([, rows, ...more]) {
    if (!isList(rows, edgeBringSessionsMax) || more.length > 0) return null;
    const sessions: BroughtSession[] = [];
    for (const row of rows) {
      const session = readRow(row);
      if (session === null) return null;
      sessions.push(session);
    }
    return { kind: 'bring', sessions };
  },
};

function readRow(row: unknown): BroughtSession | null {
  if (!Array.isArray(row) || row.length !== 8) return null;
  const [number, device, session, epoch, wakeMode, secretMark, lastHeartbeatAt, endedBy] = row as Fields;
  if (typeof device !== 'string' || typeof session !== 'string') return null;
  const deviceId = parseDeviceId(device);
  const sessionId = parseSessionId(session);
  if (deviceId === null || sessionId === null || !isUint32(number) || !isEpoch(epoch)) return null;
  if (!isWakeMode(wakeMode) || !isSecretMark(secretMark) || !isSecond(lastHeartbeatAt)) return null;
  if (endedBy !== null && !isEndReason(endedBy)) return null;
  return { number, deviceId, sessionId, epoch, wakeMode, secretMark, lastHeartbeatAt, endedBy };
}

function readNumbers(packed: unknown): Uint32Array | null {
  if (!Buffer.isBuffer(packed) || packed.length % numberBytes !== 0) return null;
  const numbers = new Uint32Array(packed.length / numberBytes);
  if (numbers.length > edgeHeartbeatsMax) return null;
  for (let at = 0; at < numbers.length; at += 1) numbers[at] = packed.readUInt32LE(at * numberBytes);
  return numbers;
}

function isTallied(value: unknown): boolean {
  return isCount(value) && value <= edgeTallyCountMax;
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 3600;
}

function isList(value: unknown, lengthMax: number): value is Fields {
  return Array.isArray(value) && value.length <= lengthMax;
}

const coreReaders: Record<keyof typeof coreKinds, Read<CoreMessage>> = {
  heartbeat: ({ length }) => (length === 1 ? { kind: 'heartbeat' } : null),
  probe: ({ length }) => (length === 1 ? { kind: 'probe' } : null),
  admitted([, number, session, epoch, secretMark, ...more]) {
    const sessionId = typeof session === 'string' ? parseSessionId(session) : null;
    if (!isUint32(number) || sessionId === null || !isEpoch(epoch) || !isSecretMark(secretMark)) return null;
    return more.length > 0 ? null : { kind: 'admitted', number, sessionId, epoch, secretMark };
  },
  refused([, number, refusal, ...more]) {
    if (!isUint32(number) || !isRefusal(refusal) || more.length > 0) return null;
    return { kind: 'refused', number, refusal };
  },
  wake([, number, ask, customData, ...more]) {
    if (!isUint32(number) || !isUint32(ask) || !isCustomData(customData) || more.length > 0) return null;
    return { kind: 'wake', number, ask, customData };
  },
  close([, number, reason, ...more]) {
    return isUint32(number) && isEndReason(reason) && more.length === 0
      ? { kind: 'close', number, reason }
      : null;
  },
  drain([, ask, perSecond, deadlineMs, ...more]) {
    if (!isUint32(ask) || !isCount(perSecond) || !isCount(deadlineMs) || more.length > 0) return null;
    return { kind: 'drain', ask, perSecond, deadlineMs };
  },
  'reload-tls'([, ask, ...more]) {
    return isUint32(ask) && more.length === 0 ? { kind: 'reload-tls', ask } : null;
  },
};

/** In the order of the numbers of the kinds. */
const edgeReadersByNumber = Object.keys(edgeKinds).map((kind) => edgeReaders[kind as keyof typeof edgeKinds]);
const coreReadersByNumber = Object.keys(coreKinds).map((kind) => coreReaders[kind as keyof typeof coreKinds]);

/** `isOwn`: the bytes come from a process of this machine's own user, and are not scanned before they are read. */
export function decodeEdgeMessage(bytes: Buffer, isOwn: boolean): Result<EdgeMessage, string> {
  return decode(isOwn ? unpackOwn(bytes) : unpackPlain(bytes), edgeReadersByNumber);
}

/** The core is trusted by the edge: it has its key, or is of its own user. */
export function decodeCoreMessage(bytes: Buffer): Result<CoreMessage, string> {
  return decode(unpackOwn(bytes), coreReadersByNumber);
}

function decode<Message>(value: unknown, readers: readonly Read<Message>[]): Result<Message, string> {
  if (!Array.isArray(value)) return fail(isGreeting(value) ? 'said hello twice' : notOfTheLink);
  const message = readers[Number(value[0])]?.(value) ?? null;
  if (message !== null) return succeed(message);
  return fail(typeof value[0] === 'number' ? `${notOfTheLink}, of kind ${value[0]}` : notOfTheLink);
}

const notOfTheLink = 'sent a message that is none of the link';
const notALink = 'does not speak the language of the link';

/** The core's end reads the version first: the rest of a hello may be another one's. */
export function decodeEdgeHello(bytes: Buffer): Result<EdgeMessage, string> {
  const hello = unpackPlain(bytes);
  if (!isGreeting(hello) || hello.kind !== 'hello') return fail(notALink);
  if (hello.version !== edgeLinkVersion) return succeed({ kind: 'foreign', version: hello.version });
  const { version, name, instance, release, pid, address, advertise, maxSessions } = hello;
  const isRight =
    isName(name) &&
    isName(instance) &&
    isName(release) &&
    isCount(pid) &&
    isAddress(address) &&
    isAdvertised(advertise) &&
    isCount(maxSessions) &&
    maxSessions >= 1 &&
    maxSessions <= edgeSessionsMax;
  if (!isRight) return fail('sent a hello with a field out of its range');
  return succeed({ kind: 'hello', version, name, instance, release, pid, address, advertise, maxSessions });
}

/** A hello of our version, or a decline of any. */
export function decodeCoreHello(bytes: Buffer): Result<CoreMessage, string> {
  const greeting = unpackPlain(bytes);
  if (!isGreeting(greeting)) return fail(notALink);
  const { version, release, sentence } = greeting;
  if (greeting.kind === 'declined')
    return isSentence(sentence) ? succeed({ kind: 'declined', version, sentence }) : fail(notALink);
  if (version !== edgeLinkVersion) return fail(wordsOfVersion(version));
  return isName(release) ? succeed({ kind: 'hello', version, release }) : fail(notALink);
}

/** The end of a sentence about the peer. */
export function wordsOfVersion(version: number): string {
  return `speaks version ${version} of the edge link, and this end version ${edgeLinkVersion}: run the same release on both`;
}

type Greeting = { readonly kind: 'hello' | 'declined'; readonly version: number } & Readonly<
  Record<string, unknown>
>;

function isGreeting(value: unknown): value is Greeting {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, version } = value as { readonly kind?: unknown; readonly version?: unknown };
  return (kind === 'hello' || kind === 'declined') && typeof version === 'number';
}
