/**
 * Messages between an edge and its core. A session is identified by the `number` of its connection, a uint32 unique within the
 * edge process. A message about an unknown number is ignored, since both ends may end a session at the same time. Source:
 * scale-out.md, Edges; docs/edge-protocol.md.
 */
import type { ListenAddress } from '../../lib/connections/listen-address.ts';
import { parseDeviceId, parseSessionId } from '../../model/ids.ts';
import { linkLogCharactersMax, linkTallyItemsMax, loginLineBytesMax } from '../../model/limits.ts';
import {
  edgeBringSessionsMax,
  edgeHeartbeatsMax,
  sleepEndReasons,
  sleepRefusals,
} from '../../model/sleep.ts';
import {
  checked,
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
  isUint32,
  isWakeMode,
  isWakeResult,
  listOf,
  parsed,
  readFields,
  sums,
  textUpTo,
  writeFields,
  type Field,
  type NamedFields,
} from './edge-fields.ts';

/** A core supports this version and the previous one; this is the first. */
export const edgeLinkVersion = 1;

export interface EdgeHello {
  readonly kind: 'hello';
  readonly version: number;
  /** Visible ASCII, unique among the edges of a core. */
  readonly name: string;
  /** Identifies the process; stays the same when it reconnects. */
  readonly instance: string;
  readonly release: string;
  readonly pid: number;
  /** The present or future listen address. */
  readonly address: ListenAddress;
  /** Sleep servers for devices, from the edge's settings; empty: its listen address. */
  readonly advertise: readonly string[];
  readonly maxSessions: number;
}

export interface CoreHello {
  readonly kind: 'hello';
  readonly version: number;
  readonly release: string;
}

type ValuesOf<Fields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Field<infer Value> ? Value : never;
};
type MessagesOf<Kinds> = {
  [Kind in keyof Kinds]: { readonly kind: Kind } & ValuesOf<Kinds[Kind]>;
}[keyof Kinds];

const uint32 = checked(isUint32);
const count = checked(isCount);
const reason = checked(isEndReason);
const sessionId = parsed(parseSessionId);
const epoch = checked(isEpoch);
const secretMark = checked(isSecretMark);
const flag = checked((value): value is boolean => typeof value === 'boolean');

const broughtFields = {
  number: uint32,
  deviceId: parsed(parseDeviceId),
  sessionId,
  epoch,
  wakeMode: checked(isWakeMode),
  /** 32 bits, signed. */
  secretMark,
  /** Unix seconds; 0: none yet. */
  lastHeartbeatAt: uint32,
  /** End reason not yet reported to a core; null: open. */
  endedBy: checked((value) => value === null || isEndReason(value)),
};
const sessionFields = Object.entries(broughtFields) as NamedFields;
export type BroughtSession = ValuesOf<typeof broughtFields>;

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

/** Fields in wire order, kinds in the order of their numbers. */
export const edgeKinds = {
  heartbeat: {},
  admit: {
    number: uint32,
    /** The login line without its LF. */
    line: textUpTo(loginLineBytesMax),
    sessionKey: textUpTo(64),
    hasRoom: flag,
    /** Remote address of the module; empty: it has disconnected. */
    address: textUpTo(128),
  },
  ended: { number: uint32, reason, lastHeartbeatAt: uint32 },
  /** Sessions with a heartbeat in this second. */
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
  /** `left`: sessions that are still open. */
  drained: { ask: uint32, left: count },
  /** `problem`: the edge keeps its present certificate; null: reloaded. */
  'tls-reloaded': { ask: uint32, problem: checked((value) => value === null || isSentence(value)) },
  listening: { host: checked(isName), port: checked(isPort) },
  /** Open sessions that this core, or the previous one, admitted. */
  bring: { sessions },
  /** All open sessions have been reported; logins follow. */
  brought: {},
  probed: {},
};

export const coreKinds = {
  heartbeat: {},
  /** The answer to `admit`; for a reported session: it continues as a new session. */
  admitted: { number: uint32, sessionId, epoch, secretMark },
  refused: { number: uint32, refusal: checked(isRefusal) },
  wake: { number: uint32, ask: uint32, customData: checked(isCustomData) },
  close: { number: uint32, reason },
  drain: { ask: uint32, perSecond: count, deadlineMs: count },
  'reload-tls': { ask: uint32 },
  /** Answered at once: measures the link's delay. */
  probe: {},
  /** Another edge at the same address has room, or none has any longer. */
  balance: { othersHaveRoom: flag },
};

export type EdgeTally = ValuesOf<typeof edgeKinds.tally>;

export type SentByEdge = EdgeHello | MessagesOf<typeof edgeKinds>;
export type EdgeMessage =
  | SentByEdge
  /** A hello that no core accepts: of another version, or with a field out of range. */
  | { readonly kind: 'unfit'; readonly sentence: string };

export type CoreMessage =
  | CoreHello
  /** Instead of a hello; then the link ends. */
  | { readonly kind: 'declined'; readonly version: number; readonly sentence: string }
  | MessagesOf<typeof coreKinds>;
