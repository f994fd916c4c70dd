/**
 * Bytes to messages between an edge and its core. Fields are checked by hand, for an edge loads no schema library. Each
 * fault is the end of a sentence about the peer.
 */
import { unpackOwn, unpackPlain } from '../../lib/plain-msgpack.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  isAddress,
  isCount,
  isCustomData,
  isEndReason,
  isEpoch,
  isLogLevel,
  isLoginResult,
  isRefusal,
  isSecond,
  isSecretMark,
  isSentence,
  isText,
  isUint32,
  isWakeMode,
  isWakeResult,
} from './edge-fields.ts';
import { linkLogCharactersMax, linkTallyItemsMax, loginLineBytesMax } from '../../model/limits.ts';
import { parseDeviceId, parseSessionId } from '../../model/ids.ts';
import {
  edgeBringSessionsMax,
  edgeHeartbeatsMax,
  edgeTallyCountMax,
  sleepEndReasons,
  sleepRefusals,
} from '../../model/sleep.ts';
import type { BroughtSession, EdgeTally } from './edge-message.ts';

import { coreKinds, edgeKinds, numberBytes } from './edge-encoding.ts';
import { isGreeting } from './edge-greeting.ts';
import type { CoreMessage, EdgeMessage } from './edge-message.ts';

type Fields = readonly unknown[];
/** Null: it is no such message. */
type Read<Message> = (fields: Fields) => Message | null;

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
  balance([, othersHaveRoom, ...more]) {
    return typeof othersHaveRoom === 'boolean' && more.length === 0
      ? { kind: 'balance', othersHaveRoom }
      : null;
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
