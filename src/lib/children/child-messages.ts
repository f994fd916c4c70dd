/**
 * Messages between a supervisor and one of its child processes, on a stream that the child inherits. Node's IPC channel is not
 * used: it has no bound and passes descriptors, and a child that decodes untrusted pictures may be compromised. The values are
 * JSON and are not validated: both ends belong to one release.
 *
 * Source: scale-out.md, Edges; docs/adr/0031-one-supervisor-of-children.md.
 */
import type { Heartbeat, LinkBounds, LinkLanguage } from '../link/link.ts';
import { fail, messageOf, succeed, type Result } from '../result.ts';

/** Version of these messages: a supervisor may start children of a later release. */
export const childVersion = 1;

/** File descriptor of the stream in the child. */
export const childDescriptor = 4;

const childHeartbeatMs = 1000;

/** The supervisor sets the deadlines: a child waits as long as the stream is open. */
export const childBounds: LinkBounds = {
  messageBytesMax: 256 * 1024,
  backlogBytesMax: 1024 * 1024,
  congestedBytes: 512 * 1024,
  helloMsMax: 20_000,
  heartbeatMs: childHeartbeatMs,
  silenceMsMax: 5 * childHeartbeatMs,
};

export interface ChildKind {
  /** Sent once, before any order. */
  readonly task: unknown;
  readonly ready: object;
  /** Sent by the supervisor; `report` is sent to it. */
  readonly order: unknown;
  readonly report: unknown;
}

export type ToChild<Kind extends ChildKind> =
  /** First message. */
  | { readonly kind: 'hello'; readonly version: number }
  /** Sent once. The successor of a core waits for it. */
  | { readonly kind: 'begin'; readonly task: Kind['task'] }
  | { readonly kind: 'order'; readonly order: Kind['order'] }
  /** The child drains, flushes and exits. */
  | { readonly kind: 'stop' }
  | Heartbeat;

export type FromChild<Kind extends ChildKind> =
  /** First message: the child's code is loaded. */
  | { readonly kind: 'hello'; readonly version: number; readonly release: string }
  | { readonly kind: 'ready'; readonly facts: Kind['ready'] }
  /** The child cannot serve and exits. `reason`: a sentence for the operator. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'report'; readonly report: Kind['report'] }
  | Heartbeat;

const kinds = new Set(['begin', 'order', 'stop', 'ready', 'failed', 'report', 'heartbeat']);

/** Encodes messages, and decodes those of type `Received`. */
export function childLanguage<Received>(): LinkLanguage<object, Received> {
  return {
    encode: (message) => Buffer.from(JSON.stringify(message)),
    readHello: (bytes) => readMessage(bytes, faultOfHello),
    read: (bytes) => readMessage(bytes, ({ kind }) => (kinds.has(String(kind)) ? null : notInOrder)),
  };
}

const notInOrder = 'sent a message unknown between a child and its supervisor';

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
