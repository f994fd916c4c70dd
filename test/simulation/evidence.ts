/**
 * Records of a run: the responses and events that devices and backends received, and the real state of sockets, against which
 * the server's statements are checked. Ids in the trace are named in order of appearance, so that a seed gives the same trace
 * whatever ids are generated.
 */
import { createHash } from 'node:crypto';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId, EventId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { SessionTicket } from '../../src/core/ports/device-sessions.ts';
import type { Holder, Life } from './site.ts';
import type { Timeline } from './timeline.ts';
import type { Wire } from './wires.ts';

export interface SessionFact {
  readonly kind: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  /** Current ticket; recovery gives a session another id. */
  readonly ticket: SessionTicket;
  /** Secret that proved the login. */
  readonly secret: string;
  readonly holder: Holder;
  readonly wire: Wire;
  readonly askedMs: number;
  readonly openedMs: number;
  /** Time of the welcome, after the commit of the login; null: none yet. */
  welcomedMs: number | null;
  /** The epoch was not claimed in time: a later login may replace it without notice. */
  isProvisional: boolean;
}

export interface SleepLoginFact {
  readonly deviceId: DeviceId;
  /** Infinity: not answered yet. */
  answeredMs: number;
}

/** A wake packet written to the server's kernel. */
export interface WriteFact {
  readonly deviceId: DeviceId;
  readonly atMs: number;
  /** The server that requested it; null: dead. */
  readonly life: Life | null;
}

/** A signed wakeup; at another process after a fault, a repeat may count as a new one. */
export interface WakeupFact {
  readonly requestId: RequestId;
  readonly deviceId: DeviceId;
  sent: number;
  acceptedMs: number;
  /** Processes that answered 202 or wrote the packet; one of them stores the wakeup. */
  readonly lives: Set<Life>;
}

/** An issued call, by the session of its token. */
export interface CallFact {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  readonly issuedMs: number;
  isEnded: boolean;
}

/** Kinds of checks, counted per run: a run without any check proves nothing. */
export type Checked =
  | 'logins'
  | 'wakeups'
  | 'queries'
  | 'events'
  | 'calls'
  | 'holders'
  | 'faults'
  | 'timers'
  | 'repeats'
  | 'settled wakeups'
  | 'registry changes'
  | 'registry events'
  | 'kicks'
  | 'clocks set'
  | 'timeouts'
  | 'legs'
  | 'deliveries'
  | 'delivered events'
  | 'links';

const traceKept = 60;
const answerMsMax = 5000;

export class Evidence {
  readonly sessions = new Map<SessionId, SessionFact>();
  readonly sleepLogins: SleepLoginFact[] = [];
  readonly writes: WriteFact[] = [];
  readonly wakeups = new Map<RequestId, WakeupFact>();
  /** Number of 202 responses, including repeats. */
  answers = 0;
  readonly calls = new Map<SessionId, CallFact>();
  /** Events read by a backend, at any member. */
  readonly read = new Map<EventId, LoggedEvent>();
  readonly checked = new Map<Checked, number>();
  /** Sequence of the last event that a backend read before the site came to rest. */
  restSequence = 0;
  readonly #timeline: Timeline;
  readonly #names = new Map<string, string>();
  readonly #trace: string[] = [];
  readonly #hash = createHash('sha256');
  readonly #keepsAll: boolean;
  violation: string | null = null;

  constructor(timeline: Timeline, keepsAll: boolean) {
    this.#timeline = timeline;
    this.#keepsAll = keepsAll;
  }

  get trace(): readonly string[] {
    return this.#trace;
  }

  hash(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Returns a short name of an id: `s3` for the third session. */
  name(kind: string, id: string): string {
    const key = `${kind} ${id}`;
    const known = this.#names.get(key) ?? `${kind}${this.#names.size + 1}`;
    this.#names.set(key, known);
    return known;
  }

  record(line: string): void {
    const text = `${(this.#timeline.nowMs / 1000).toFixed(3).padStart(9)}  ${line}`;
    this.#hash.update(`${text}\n`);
    this.#trace.push(text);
    if (!this.#keepsAll && this.#trace.length > traceKept) this.#trace.shift();
  }

  count(what: Checked, times = 1): void {
    this.checked.set(what, (this.checked.get(what) ?? 0) + times);
  }

  /** `invariant`: its number in docs/simulation.md. */
  violated(invariant: number, sentence: string): void {
    this.record(`VIOLATED ${invariant}: ${sentence}`);
    this.violation ??= `invariant ${invariant}: ${sentence}`;
  }

  sent({ requestId, deviceId }: { requestId: RequestId; deviceId: DeviceId }): void {
    this.#wakeup(requestId, deviceId).sent += 1;
  }

  accepted({ requestId, deviceId }: { requestId: RequestId; deviceId: DeviceId }, life: Life): void {
    const fact = this.#wakeup(requestId, deviceId);
    this.answers += 1;
    fact.acceptedMs = this.#timeline.nowMs;
    fact.lives.add(life);
    for (const write of this.writes)
      if (
        write.deviceId === deviceId &&
        this.#timeline.nowMs - write.atMs < answerMsMax &&
        write.life !== null
      )
        fact.lives.add(write.life);
  }

  #wakeup(requestId: RequestId, deviceId: DeviceId): WakeupFact {
    const fact = this.wakeups.get(requestId) ?? {
      requestId,
      deviceId,
      sent: 0,
      acceptedMs: 0,
      lives: new Set<Life>(),
    };
    this.wakeups.set(requestId, fact);
    return fact;
  }

  opened(fact: SessionFact): void {
    this.sessions.set(fact.session, fact);
    this.record(
      `${fact.holder.name} admits ${this.name('s', fact.session)} (${fact.kind}) of ${fact.deviceId}`,
    );
  }

  /** Sessions with an open socket at a living process. */
  living(kind: ConnectionKind, deviceId: DeviceId): SessionFact[] {
    const isLiving = (fact: SessionFact): boolean =>
      fact.kind === kind &&
      fact.deviceId === deviceId &&
      !fact.wire.isServerClosed &&
      !fact.holder.host.isDead;
    return Array.from(this.sessions.values()).filter(isLiving);
  }

  asleep(session: SessionId): SessionFact | null {
    for (const fact of this.sessions.values())
      if (fact.ticket.sessionId === session && !fact.wire.isServerClosed && !fact.holder.host.isDead)
        return fact;
    return null;
  }
}
