/**
 * The messages between a supervisor and one of its child processes, on a stream that the child inherits. It is not Node's IPC
 * channel, which has no bound and passes descriptors: a child that decodes strangers' pictures may be in an attacker's hands.
 * The values of a kind of child are JSON and are not checked: both ends are of one release.
 * Source: scale-out.md, Edges; docs/adr/0031-one-supervisor-of-children.md.
 */
import type { Heartbeat, LinkBounds, LinkLanguage } from '../link/link.ts';
import { fail, messageOf, succeed, type Result } from '../result.ts';

/** Version of these messages: a supervisor meets children of later releases. */
export const childVersion = 1;

/** The child's end of the stream. */
export const childDescriptor = 4;

/** Each end sends a heartbeat this often. */
const childHeartbeatMs = 1000;

/** Deadlines are the supervisor's: a child waits as long as the stream is open. */
export const childBounds: LinkBounds = {
  messageBytesMax: 256 * 1024,
  backlogBytesMax: 1024 * 1024,
  congestedBytes: 512 * 1024,
  helloMsMax: 20_000,
  heartbeatMs: childHeartbeatMs,
  silenceMsMax: 5 * childHeartbeatMs,
};

/** A kind of child, by the values that its messages carry. */
export interface ChildKind {
  /** Its work, sent once. */
  readonly task: unknown;
  /** Facts about a child that serves. */
  readonly ready: object;
  /** From its supervisor; `report` is to it. */
  readonly order: unknown;
  readonly report: unknown;
}

export type ToChild<Kind extends ChildKind> =
  /** First. */
  | { readonly kind: 'hello'; readonly version: number }
  /** Once. The successor of a core waits for it. */
  | { readonly kind: 'begin'; readonly task: Kind['task'] }
  | { readonly kind: 'order'; readonly order: Kind['order'] }
  /** Drain, flush, end. */
  | { readonly kind: 'stop' }
  | Heartbeat;

export type FromChild<Kind extends ChildKind> =
  /** First: its code is loaded. */
  | { readonly kind: 'hello'; readonly version: number; readonly release: string }
  /** It serves. */
  | { readonly kind: 'ready'; readonly facts: Kind['ready'] }
  /** It cannot serve, for a reason that is a sentence for the operator, and ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'report'; readonly report: Kind['report'] }
  | Heartbeat;

const kinds = new Set(['begin', 'order', 'stop', 'ready', 'failed', 'report', 'heartbeat']);

/** The language of the end that receives `Received`. */
export function childLanguage<Received>(): LinkLanguage<object, Received> {
  return {
    encode: (message) => Buffer.from(JSON.stringify(message)),
    readHello: (bytes) => readMessage(bytes, faultOfHello),
    read: (bytes) => readMessage(bytes, ({ kind }) => (kinds.has(String(kind)) ? null : notInOrder)),
  };
}

const notInOrder = 'sent no message of a child and its supervisor';

function readMessage<Received>(
  bytes: Buffer,
  faultOf: (message: Record<string, unknown>) => string | null,
): Result<Received, string> {
  try {
    const message: unknown = JSON.parse(bytes.toString());
    if (typeof message !== 'object' || message === null) return fail(notInOrder);
    const fault = faultOf(message as Record<string, unknown>);
    return fault === null ? succeed(message as Received) : fail(fault);
  } catch (error) {
    return fail(`${notInOrder}: ${messageOf(error)}`);
  }
}

function faultOfHello({ kind, version }: Record<string, unknown>): string | null {
  if (kind !== 'hello') return notInOrder;
  return version === childVersion
    ? null
    : `speaks version ${JSON.stringify(version)} of a supervisor's messages, and this end version ${childVersion}`;
}
