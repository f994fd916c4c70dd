/**
 * What devices and backends were told, and what really happened to sockets: by it the server's word is judged. Names in
 * the trace are given in the order of their first appearance, so that it is the same for one seed whatever ids are drawn.
 */
import { createHash } from 'node:crypto';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId, EventId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { SessionTicket } from '../../src/core/ports/device-sessions.ts';
import type { Holder, Life } from './site.ts';
import type { Timeline } from './timeline.ts';
import type { Wire } from './wires.ts';

/** A session that a process has admitted. */
export interface SessionFact {
  readonly kind: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  /** As its holder has it by now: a session that was recovered has another id. */
  readonly ticket: SessionTicket;
  /** By which it was proven. */
  readonly secret: string;
  /** The process that has the socket. */
  readonly holder: Holder;
  readonly wire: Wire;
  /** When its login came. */
  readonly askedMs: number;
  readonly openedMs: number;
  /** The controller has its welcome: its login is committed; null: it has not. */
  welcomedMs: number | null;
  /** Its epoch was not claimed in time: others may have logged in on top of it, without a word of this one. */
  isProvisional: boolean;
}

/** A module has sent its login. */
export interface SleepLoginFact {
  readonly deviceId: DeviceId;
  /** Infinity: not yet. */
  answeredMs: number;
}

/** The kernel of the server has taken a wake packet. */
export interface WriteFact {
  readonly deviceId: DeviceId;
  readonly atMs: number;
  /** The server that has ordered it; null: it has died. */
  readonly life: Life | null;
}

/** A signed wakeup; elsewhere, and behind a fault, a repeat of it may be another one. */
export interface WakeupFact {
  readonly requestId: RequestId;
  readonly deviceId: DeviceId;
  /** How often it was sent. */
  sent: number;
  /** Of the latest 202. */
  acceptedMs: number;
  /** Who has answered 202, and who has written: one of them keeps it. */
  readonly lives: Set<Life>;
}

/** A call that was issued, by its token's session. */
export interface CallFact {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  readonly issuedMs: number;
  /** A backend was told that it has ended. */
  isEnded: boolean;
}

/** How often a run has checked something; one that has checked nothing proves nothing. */
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
/** Milliseconds between a write and its answer, at most. */
const answerMsMax = 5000;

export class Evidence {
  readonly sessions = new Map<SessionId, SessionFact>();
  /** Logins that modules have sent. */
  readonly sleepLogins: SleepLoginFact[] = [];
  readonly writes: WriteFact[] = [];
  readonly wakeups = new Map<RequestId, WakeupFact>();
  /** 202s, repeats among them. */
  answers = 0;
  readonly calls = new Map<SessionId, CallFact>();
  /** Events that a backend has read, by any member. */
  readonly read = new Map<EventId, LoggedEvent>();
  readonly checked = new Map<Checked, number>();
  /** Of the last event before the site came to rest, as far as a backend has read. */
  restSequence = 0;
  readonly #timeline: Timeline;
  readonly #names = new Map<string, string>();
  readonly #trace: string[] = [];
  readonly #hash = createHash('sha256');
  readonly #keepsAll: boolean;
  /** The first thing that was wrong; null: nothing yet. */
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

  /** A short name for an id: `s3` for the third session. */
  name(kind: string, id: string): string {
    const key = `${kind} ${id}`;
    const known = this.#names.get(key) ?? `${kind}${this.#names.size + 1}`;
    this.#names.set(key, known);
    return known;
  }

  note(line: string): void {
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
    this.note(`VIOLATED ${invariant}: ${sentence}`);
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
    this.note(
      `${fact.holder.name} admits ${this.name('s', fact.session)} (${fact.kind}) of ${fact.deviceId}`,
    );
  }

  /** Sessions whose socket is open at a process that lives. */
  living(kind: ConnectionKind, deviceId: DeviceId): SessionFact[] {
    const isLiving = (fact: SessionFact): boolean =>
      fact.kind === kind &&
      fact.deviceId === deviceId &&
      !fact.wire.isServerClosed &&
      !fact.holder.host.isDead;
    return Array.from(this.sessions.values()).filter(isLiving);
  }

  /** The living sleep session with this id; null: there is none. */
  asleep(session: SessionId): SessionFact | null {
    for (const fact of this.sessions.values())
      if (fact.ticket.sessionId === session && !fact.wire.isServerClosed && !fact.holder.host.isDead)
        return fact;
    return null;
  }
}
