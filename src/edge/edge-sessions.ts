/**
 * The core's view of the sessions of one edge process: admissions, heartbeats, wakeups, ends. After a cut link they wait until the edge
 * returns and sends them again, or end as `node_lost`. Input of the edge is not trusted.
 * Lifecycle: bringing -> linked -> away -> bringing. Source: scale-out.md, Edges.
 */
import { wallSeconds, type Cancel, type Clock } from '../lib/clock.ts';
import { OpenAsks } from '../lib/link/open-asks.ts';
import type { Admission, SessionTicket, SleepSessions } from '../core/ports/device-sessions.ts';
import {
  edgeWakeMarginMs,
  edgeWakesMax,
  type CustomData,
  type SleepEndReason,
  type WakeWriteResult,
} from '../model/sleep.ts';
import type { EdgeWakeResult } from '../protocol/edge-link/edge-fields.ts';
import { parseLoginLine } from '../protocol/sleep/login-line.ts';
import type {
  BroughtSession,
  CoreMessage,
  EdgeHello,
  EdgeMessage,
} from '../protocol/edge-link/edge-message.ts';
import { LinkedConnection, type LinkedConnectionOwner } from './linked-connection.ts';
import { LostSessions } from './lost-sessions.ts';

export interface EdgeSessionsDeps {
  readonly clock: Clock;
  readonly sessions: SleepSessions<Admission>;
  /** Sessions end after the link was away for this time, milliseconds. */
  readonly awayMsMax: number;
  readonly writeDeadlineMs: number;
  /** True: the core has room for another session. */
  hasRoom(): boolean;
  /** A login could not be verified, or a session not resumed: registry or store unreadable. */
  reportFailure(error: unknown): void;
  /** The link is cut, and the last session has ended. */
  emptied(): void;
}

type SessionMessage = Extract<
  EdgeMessage,
  { readonly kind: 'admit' | 'ended' | 'heartbeats' | 'woken' | 'bring' | 'brought' }
>;
type Send = (message: CoreMessage) => void;

const unreachable: Promise<WakeWriteResult> = Promise.resolve('unreachable');

export class EdgeSessions implements LinkedConnectionOwner {
  readonly hello: EdgeHello;
  readonly #deps: EdgeSessionsDeps;
  readonly #live = new Map<number, LinkedConnection>();
  /** Sessions of the previous link that the edge has not sent again. */
  readonly #lost: LostSessions;
  /** Numbers of sessions that the core closed while the edge was away. */
  readonly #closed = new Map<number, SleepEndReason>();
  readonly #wakes: OpenAsks<{ readonly woken: EdgeWakeResult }, 'refused' | 'unknown'>;
  #stage: 'bringing' | 'linked' | 'away' = 'away';
  #send: Send = () => undefined;
  #cancelEnd: Cancel = () => undefined;

  constructor(hello: EdgeHello, deps: EdgeSessionsDeps) {
    this.hello = hello;
    this.#deps = deps;
    this.#lost = new LostSessions(
      (connection) => this.#end(connection, 'node_lost', connection.lastHeartbeatAt),
      () => {
        if (this.#stage === 'away') deps.emptied();
      },
    );
    this.#wakes = new OpenAsks(deps.clock, {
      max: edgeWakesMax,
      unsent: 'refused',
      expired: () => 'unknown',
    });
  }

  get size(): number {
    return this.#live.size + this.#lost.size;
  }

  /** A new link: the edge sends its sessions next. The previous link may be cut without our notice. */
  linked(send: Send): void {
    this.unlink();
    this.#stage = 'bringing';
    this.#send = send;
  }

  /** The link has ended; sessions wait for the next one, at this core or another. */
  unlink(): void {
    this.#cancelEnd();
    this.#lost.keep();
    this.#stage = 'away';
    this.#send = () => undefined;
    this.#wakes.failAll();
    for (const connection of this.#live.values()) this.#lost.add(connection);
    this.#live.clear();
  }

  /** The link was cut; sessions end unless the edge returns within `awayMsMax`. */
  cut(): void {
    const { clock, awayMsMax } = this.#deps;
    this.unlink();
    if (awayMsMax === 0) this.giveUp();
    else this.#cancelEnd = clock.after(awayMsMax, () => this.giveUp());
  }

  /** Ends its sessions as lost, a limited number a turn, unless the edge returns meanwhile. */
  giveUp(): void {
    this.#cancelEnd();
    this.#lost.end();
  }

  /** Returns the end of a sentence about a fault of the edge, for which the link is cut; null: no fault. */
  received(message: SessionMessage): string | null {
    switch (message.kind) {
      case 'admit':
        return this.#admit(message);
      case 'ended':
        return this.#ended(message);
      case 'heartbeats':
        this.#heartbeats(message);
        return null;
      case 'woken':
        this.#wakes.answered(message.ask, 'woken', message.result);
        return null;
      case 'bring':
        return this.#adoptSessions(message.sessions);
      case 'brought':
        if (this.#stage !== 'bringing') return 'sent its sessions twice';
        this.#stage = 'linked';
        this.#closed.clear();
        this.giveUp();
        return null;
    }
  }

  wake({ number }: LinkedConnection, customData: CustomData): Promise<WakeWriteResult> {
    if (this.#stage === 'away') return unreachable;
    const waitMs = this.#deps.writeDeadlineMs + edgeWakeMarginMs;
    const woken = this.#wakes.ask('woken', waitMs, (ask) => {
      this.#send({ kind: 'wake', number, ask, customData });
      return true;
    });
    return woken.then((result) => (result.ok ? result.value : result.error));
  }

  closed(connection: LinkedConnection, reason: SleepEndReason): void {
    const { number } = connection;
    if (this.#live.get(number) === connection) {
      this.#live.delete(number);
      this.#send({ kind: 'close', number, reason });
    } else if (this.#lost.delete(connection)) {
      if (this.#stage !== 'linked') this.#closed.set(number, reason);
    }
  }

  #admit(message: Extract<SessionMessage, { kind: 'admit' }>): string | null {
    if (this.#stage !== 'linked') return 'requested a login before it had sent its sessions';
    const { number, line, sessionKey, address } = message;
    if (this.#live.has(number)) return 'used the number of a session twice';
    const login = parseLoginLine(line);
    if (login === null) return 'forwarded an invalid login';
    const hasRoom = message.hasRoom && this.size < this.hello.maxSessions && this.#deps.hasRoom();
    const connection = new LinkedConnection(number, login.deviceId, this);
    const admission = this.#try(() =>
      this.#deps.sessions.admit(login, sessionKey, connection, hasRoom, () => address),
    );
    if (admission === null || typeof admission === 'string')
      this.#send({ kind: 'refused', number, refusal: admission ?? 'busy' });
    else this.#open(connection, admission);
    return null;
  }

  #open(connection: LinkedConnection, ticket: SessionTicket): void {
    const { number, closedBy } = connection;
    connection.admitted(ticket);
    this.#sendAdmitted(connection);
    if (closedBy === null) this.#live.set(number, connection);
    else this.#send({ kind: 'close', number, reason: closedBy });
  }

  #sendAdmitted({ number, sessionId, epoch, secretMark }: LinkedConnection): void {
    this.#send({ kind: 'admitted', number, sessionId, epoch, secretMark });
  }

  /** Ignores a session that the core has closed meanwhile. */
  #ended({ number, reason, lastHeartbeatAt }: Extract<SessionMessage, { kind: 'ended' }>): null {
    const connection = this.#live.get(number);
    this.#live.delete(number);
    if (connection !== undefined) this.#end(connection, reason, lastHeartbeatAt);
    return null;
  }

  #end(connection: LinkedConnection, reason: SleepEndReason, lastHeartbeatAt: number): void {
    connection.closedBy = reason;
    this.#heartbeat(connection, lastHeartbeatAt);
    this.#deps.sessions.ended(connection, reason, connection.lastHeartbeatAt);
  }

  #heartbeats({ at, numbers }: Extract<SessionMessage, { kind: 'heartbeats' }>): void {
    for (const number of numbers) {
      const connection = this.#live.get(number);
      if (connection !== undefined) this.#heartbeat(connection, at);
    }
  }

  /** Clamps the time: the clock of the edge's machine may be ahead of ours. */
  #heartbeat(connection: LinkedConnection, at: number): void {
    const heartbeatAt = Math.min(at, wallSeconds(this.#deps.clock));
    connection.lastHeartbeatAt = Math.max(connection.lastHeartbeatAt, heartbeatAt);
  }

  #adoptSessions(sessions: readonly BroughtSession[]): string | null {
    if (this.#stage !== 'bringing') return 'sent sessions after the end of its sessions';
    for (const session of sessions) {
      if (this.#live.has(session.number)) return 'sent a session twice';
      this.#resume(session);
    }
    return this.#live.size > this.hello.maxSessions * 2 ? 'sent more sessions than its limit' : null;
  }

  #resume(brought: BroughtSession): void {
    const { number, sessionId, endedBy, lastHeartbeatAt } = brought;
    const closedBy = this.#closed.get(number) ?? null;
    if (closedBy !== null) return this.#close(brought, closedBy);
    const connection = this.#lost.find(number) ?? this.#adopt(brought);
    if (typeof connection === 'string') return this.#close(brought, connection);
    this.#lost.delete(connection);
    if (connection.sessionId !== sessionId) this.#sendAdmitted(connection);
    this.#heartbeat(connection, lastHeartbeatAt);
    if (endedBy === null) this.#live.set(number, connection);
    else this.#end(connection, endedBy, lastHeartbeatAt);
  }

  /** Returns an end reason if the session is over for the core: the edge has to close it. */
  #adopt(brought: BroughtSession): LinkedConnection | SleepEndReason {
    const { number, deviceId, sessionId, wakeMode, secretMark, endedBy } = brought;
    const { sessions } = this.#deps;
    const connection = new LinkedConnection(number, deviceId, this);
    const moved = { deviceId, sessionId, wakeMode, secretMark };
    const resumed = this.#try(() => {
      const ticket = sessions.adopt(moved, connection);
      if (ticket !== null || endedBy !== null) return ticket;
      return sessions.recover(brought, wakeMode, connection);
    });
    if (resumed === null || typeof resumed === 'string') return resumed ?? 'node_lost';
    connection.admitted(resumed);
    // Claiming the last session starts a review of the registry, which may end it.
    return connection.closedBy ?? connection;
  }

  #close({ number, endedBy }: BroughtSession, reason: SleepEndReason): void {
    if (endedBy === null) this.#send({ kind: 'close', number, reason });
  }

  #try<Answer>(ask: () => Answer): Answer | null {
    try {
      return ask();
    } catch (error) {
      this.#deps.reportFailure(error);
      return null;
    }
  }
}
