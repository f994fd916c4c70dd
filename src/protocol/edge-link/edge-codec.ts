/**
 * Encodes and decodes messages between an edge and its core. A greeting is a map, readable by any version; every other message
 * is a list: the number of its kind, then its fields in the order of these tables. Fields are checked by hand, because an edge
 * loads no schema library. Each fault is the end of a sentence about the peer.
 */
import { packPlain, unpackOwn, unpackPlain } from '../../lib/plain-msgpack.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { linkLogCharactersMax, linkTallyItemsMax, loginLineBytesMax } from '../../model/limits.ts';
import { parseDeviceId, parseSessionId } from '../../model/ids.ts';
import {
  edgeBringSessionsMax,
  edgeHeartbeatsMax,
  edgeTallyCountMax,
  sleepEndReasons,
  sleepRefusals,
} from '../../model/sleep.ts';
import {
  isCount,
  isCustomData,
  isEndReason,
  isEpoch,
  isLogLevel,
  isLoginResult,
  isName,
  isPort,
  isRefusal,
  isSecretMark,
  isSentence,
  isText,
  isUint32,
  isWakeMode,
  isWakeResult,
} from './edge-fields.ts';
import { isGreeting } from './edge-greeting.ts';
import type { BroughtSession, CoreMessage, EdgeMessage } from './edge-message.ts';

export type SentByEdge = Exclude<EdgeMessage, { kind: 'unfit' }>;

type FromEdge = Exclude<SentByEdge, { kind: 'hello' }>;
type FromCore = Exclude<CoreMessage, { kind: 'hello' | 'declined' }>;

interface Field<Value> {
  /** Undefined: invalid. */
  readonly read: (value: unknown) => Value | undefined;
  /** Absent: the value is sent unchanged. */
  readonly write?: (value: Value) => unknown;
}

/** In wire order. */
type Fields<Message> = { readonly [Name in Exclude<keyof Message, 'kind'>]: Field<Message[Name]> };
/** In the order of the kinds' numbers. */
type Kinds<Message extends { readonly kind: string }> = {
  readonly [Kind in Message['kind']]: Fields<Extract<Message, { readonly kind: Kind }>>;
};

function checked<Value>(isValue: (value: unknown) => value is Value): Field<Value> {
  return { read: (value) => (isValue(value) ? value : undefined) };
}

function parsed<Id extends string>(parse: (text: string) => Id | null): Field<Id> {
  return { read: (value) => (typeof value === 'string' ? (parse(value) ?? undefined) : undefined) };
}

function listOf<Item>(max: number, isItem: (value: unknown) => value is Item): Field<readonly Item[]> {
  return checked(
    (value): value is readonly Item[] =>
      Array.isArray(value) && value.length <= max && value.every((item) => isItem(item)),
  );
}

function sums<Label>(labels: number, isLabel: (value: unknown) => value is Label) {
  return listOf(
    labels,
    (item): item is readonly [Label, number] =>
      Array.isArray(item) &&
      item.length === 2 &&
      isLabel(item[0]) &&
      isCount(item[1]) &&
      item[1] <= edgeTallyCountMax,
  );
}

function textUpTo(charactersMax: number): Field<string> {
  return checked((value) => isText(value, charactersMax));
}

const uint32 = checked(isUint32);
const count = checked(isCount);
const reason = checked(isEndReason);
const sessionId = parsed(parseSessionId);
const epoch = checked(isEpoch);
const secretMark = checked(isSecretMark);
const flag = checked((value): value is boolean => typeof value === 'boolean');

const sessionFields = Object.entries({
  number: uint32,
  deviceId: parsed(parseDeviceId),
  sessionId,
  epoch,
  wakeMode: checked(isWakeMode),
  secretMark,
  lastHeartbeatAt: uint32,
  endedBy: checked((value) => value === null || isEndReason(value)),
} satisfies Fields<BroughtSession>) as NamedFields;

const sessions: Field<readonly BroughtSession[]> = {
  read(rows) {
    if (!Array.isArray(rows) || rows.length > edgeBringSessionsMax) return undefined;
    const read = rows.map((row) => readFields({}, sessionFields, Array.isArray(row) ? row : []));
    return read.includes(null) ? undefined : (read as unknown as BroughtSession[]);
  },
  write: (brought) => brought.map((session) => writeFields(sessionFields, session)),
};

const numberBytes = 4;

const numbers: Field<Uint32Array> = {
  read(packed) {
    if (!Buffer.isBuffer(packed) || packed.length % numberBytes !== 0) return undefined;
    const read = new Uint32Array(packed.length / numberBytes);
    if (read.length > edgeHeartbeatsMax) return undefined;
    for (let at = 0; at < read.length; at += 1) read[at] = packed.readUInt32LE(at * numberBytes);
    return read;
  },
  write(given) {
    const packed = Buffer.allocUnsafe(given.length * numberBytes);
    for (const [at, number] of given.entries()) packed.writeUInt32LE(number, at * numberBytes);
    return packed;
  },
};

const edgeKinds = codec<FromEdge>({
  heartbeat: {},
  admit: {
    number: uint32,
    line: textUpTo(loginLineBytesMax),
    sessionKey: textUpTo(64),
    hasRoom: flag,
    address: textUpTo(128),
  },
  ended: { number: uint32, reason, lastHeartbeatAt: uint32 },
  heartbeats: { at: uint32, numbers },
  woken: { ask: uint32, result: checked(isWakeResult) },
  counts: { sockets: count },
  tally: {
    logins: sums(sleepRefusals.length + 1, isLoginResult),
    ends: sums(sleepEndReasons.length, isEndReason),
    wakeupWriteSeconds: listOf(
      linkTallyItemsMax,
      (value): value is number => typeof value === 'number' && value >= 0 && value <= 3600,
    ),
  },
  log: {
    level: checked(isLogLevel),
    fields: textUpTo(linkLogCharactersMax),
    message: checked(isSentence),
  },
  drained: { ask: uint32, left: count },
  'tls-reloaded': { ask: uint32, problem: checked((value) => value === null || isSentence(value)) },
  listening: { host: checked(isName), port: checked(isPort) },
  bring: { sessions },
  brought: {},
  probed: {},
});

const coreKinds = codec<FromCore>({
  heartbeat: {},
  admitted: { number: uint32, sessionId, epoch, secretMark },
  refused: { number: uint32, refusal: checked(isRefusal) },
  wake: { number: uint32, ask: uint32, customData: checked(isCustomData) },
  close: { number: uint32, reason },
  drain: { ask: uint32, perSecond: count, deadlineMs: count },
  'reload-tls': { ask: uint32 },
  probe: {},
  balance: { othersHaveRoom: flag },
});

export function encodeEdgeMessage(message: SentByEdge): Buffer {
  return packPlain(message.kind === 'hello' ? message : edgeKinds.encode(message));
}

export function encodeCoreMessage(message: CoreMessage): Buffer {
  const isHello = message.kind === 'hello' || message.kind === 'declined';
  return packPlain(isHello ? message : coreKinds.encode(message));
}

/** `isOwn`: the bytes come from a process of this machine's own user, and skip the msgpack scan. */
export function decodeEdgeMessage(bytes: Buffer, isOwn: boolean): Result<EdgeMessage, string> {
  return edgeKinds.decode(isOwn ? unpackOwn(bytes) : unpackPlain(bytes));
}

/** The edge trusts its core, which has the key or runs as the same user. */
export function decodeCoreMessage(bytes: Buffer): Result<CoreMessage, string> {
  return coreKinds.decode(unpackOwn(bytes));
}

type NamedFields = readonly (readonly [name: string, Field<unknown>])[];

function codec<Message extends { readonly kind: string }>(table: Kinds<Message>) {
  const kinds = Object.entries<object>(table).map(([kind, fields]) => ({
    kind,
    fields: Object.entries(fields) as NamedFields,
  }));
  const numbered = new Map(kinds.map(({ kind, fields }, number) => [kind, { number, fields }]));
  return {
    encode(message: Message): readonly unknown[] {
      const { number, fields } = numbered.get(message.kind) ?? { number: -1, fields: [] };
      return [number, ...writeFields(fields, message)];
    },
    decode(value: unknown): Result<Message, string> {
      const fault = 'sent an invalid message';
      if (!Array.isArray(value)) return fail(isGreeting(value) ? 'sent hello twice' : fault);
      const [number, ...given] = value as readonly unknown[];
      if (typeof number !== 'number') return fail(fault);
      const known = kinds[number];
      const message = known === undefined ? null : readFields({ kind: known.kind }, known.fields, given);
      return message === null ? fail(`${fault}, of kind ${number}`) : succeed(message as unknown as Message);
    },
  };
}

function writeFields(fields: NamedFields, message: object): unknown[] {
  return fields.map(([name, { write }]) => {
    const value = (message as Readonly<Record<string, unknown>>)[name];
    return write === undefined ? value : write(value);
  });
}

function readFields(
  message: Record<string, unknown>,
  fields: NamedFields,
  given: readonly unknown[],
): Record<string, unknown> | null {
  if (given.length !== fields.length) return null;
  for (const [at, [name, { read }]] of fields.entries()) {
    const value = read(given[at]);
    if (value === undefined) return null;
    message[name] = value;
  }
  return message;
}
