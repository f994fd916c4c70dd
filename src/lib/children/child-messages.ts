/**
 * The messages between a supervisor and one of its child processes, on a stream at a descriptor of the child's own. Node's IPC channel
 * would not do: it has no bound, and passes descriptors, and a child that decodes strangers' pictures may be in one's hand.
 * Task, facts, orders and reports are of the kind of child; they are JSON, and cross unchecked: the release is the same.
 * Source: scale-out.md, Edges; calls-and-media.md, The media process.
 */
import type { Heartbeat, LinkBounds, LinkLanguage } from '../link/link.ts';
import { fail, messageOf, succeed, type Result } from '../result.ts';

/** Of the messages here: a supervisor meets children of later releases. Another meaning is another number. */
export const childVersion = 1;

/** Of the child's end of the stream. */
export const childDescriptor = 4;

/** A child shows so often that it lives. */
const childHeartbeatMs = 1000;

/** The child's own deadlines are its supervisor's: it waits for that as long as the stream is there. */
export const childBounds: LinkBounds = {
  messageBytesMax: 256 * 1024,
  backlogBytesMax: 1024 * 1024,
  congestedBytes: 512 * 1024,
  helloMsMax: 20_000,
  heartbeatMs: childHeartbeatMs,
  silenceMsMax: 5 * childHeartbeatMs,
};

/** A kind of child: the values that its messages carry. */
export interface ChildKind {
  /** It is given this once, and does nothing before. */
  readonly task: unknown;
  /** Its facts once it serves. */
  readonly ready: object;
  /** From its supervisor, and to it, while it lives. */
  readonly order: unknown;
  readonly report: unknown;
}

export type ToChild<Kind extends ChildKind> =
  /** First. */
  | { readonly kind: 'hello'; readonly version: number }
  /** Once. Until then it is a spare. */
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

/** Of the end that receives `Received`. */
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
