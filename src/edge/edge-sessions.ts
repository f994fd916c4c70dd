/**
 * The sessions of one edge process, as the core has them: admissions, heartbeats, wakeups, ends. They outlive a cut link for
 * a while, and last until the edge returns and brings them, or end as `node_lost`. What the edge says is checked as a
 * stranger's. Lifecycle: bringing -> linked -> away -> bringing. Source: scale-out.md, Edges.
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
import { parseLoginLine } from '../protocol/sleep/login-line.ts';
import type {
  BroughtSession,
  CoreMessage,
  EdgeHello,
  EdgeMessage,
  EdgeWakeResult,
} from '../protocol/edge-link/edge-message.ts';
import { LinkedConnection, type LinkedConnectionOwner } from './linked-connection.ts';
import { LostSessions } from './lost-sessions.ts';

export interface EdgeSessionsDeps {
  readonly clock: Clock;
  readonly sessions: SleepSessions<Admission>;
  /** Sessions end after the link was cut for so long. */
  readonly awayMsMax: number;
  readonly writeDeadlineMs: number;
  /** The core has room for one more. */
  hasRoom(): boolean;
  /** A login could not be verified, or a session not resumed: the registry or the store cannot be read. */
  reportFailure(error: unknown): void;
  /** The link is cut, and no session is left. */
  gone(): void;
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
  /** Sessions of the link before this one, which the edge has not brought. */
  readonly #lost: LostSessions;
  /** Closed here while the edge was away. */
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
        if (this.#stage === 'away') deps.gone();
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

  /** The edge is there, and brings its sessions now. The link before may be cut without our knowing. */
  linked(send: Send): void {
    this.unlink();
    this.#stage = 'bringing';
    this.#send = send;
  }

  /** There is no link any more; sessions wait for the next one, at this core or another. */
  unlink(): void {
    this.#cancelEnd();
    this.#lost.keep();
    this.#stage = 'away';
    this.#send = () => undefined;
    this.#wakes.failAll();
    for (const connection of this.#live.values()) this.#lost.add(connection);
    this.#live.clear();
  }

  /** The link is cut. */
  cut(): void {
    const { clock, awayMsMax } = this.#deps;
    this.unlink();
    if (awayMsMax === 0) this.giveUp();
    else this.#cancelEnd = clock.after(awayMsMax, () => this.giveUp());
  }

  /** Its sessions end as lost, so many a turn, unless it returns meanwhile. */
  giveUp(): void {
    this.#cancelEnd();
    this.#lost.end();
  }

  /** The end of a sentence about the edge, which cuts the link; null: nothing is wrong. */
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
        return this.#brought(message.sessions);
      case 'brought':
        if (this.#stage !== 'bringing') return 'brought its sessions twice';
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
    if (this.#stage !== 'linked') return 'asked for a login before it had brought its sessions';
    const { number, line, sessionKey, address } = message;
    if (this.#live.has(number)) return 'gave the number of a session twice';
    const login = parseLoginLine(line);
    if (login === null) return 'passed on a login that no module can send';
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

  /** It is the edge's from now on, under these names. */
  #open(connection: LinkedConnection, ticket: SessionTicket): void {
    const { number, closedBy } = connection;
    connection.admitted(ticket);
    this.#tellAdmitted(connection);
    if (closedBy === null) this.#live.set(number, connection);
    else this.#send({ kind: 'close', number, reason: closedBy });
  }

  #tellAdmitted({ number, sessionId, epoch, secretMark }: LinkedConnection): void {
    this.#send({ kind: 'admitted', number, sessionId, epoch, secretMark });
  }

  /** One that was closed here meanwhile is not there any more. */
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

  /** The clock of another machine may be ahead of ours. */
  #heartbeat(connection: LinkedConnection, at: number): void {
    const heartbeatAt = Math.min(at, wallSeconds(this.#deps.clock));
    connection.lastHeartbeatAt = Math.max(connection.lastHeartbeatAt, heartbeatAt);
  }

  #brought(sessions: readonly BroughtSession[]): string | null {
    if (this.#stage !== 'bringing') return 'brought sessions after the last of them';
    for (const session of sessions) {
      if (this.#live.has(session.number)) return 'brought a session twice';
      this.#resume(session);
    }
    return this.#live.size > this.hello.maxSessions * 2 ? 'brought more sessions than it may have' : null;
  }

  #resume(brought: BroughtSession): void {
    const { number, sessionId, endedBy, lastHeartbeatAt } = brought;
    const closedBy = this.#closed.get(number) ?? null;
    if (closedBy !== null) return this.#close(brought, closedBy);
    const connection = this.#lost.find(number) ?? this.#adopt(brought);
    if (typeof connection === 'string') return this.#close(brought, connection);
    this.#lost.delete(connection);
    if (connection.sessionId !== sessionId) this.#tellAdmitted(connection);
    this.#heartbeat(connection, lastHeartbeatAt);
    if (endedBy === null) this.#live.set(number, connection);
    else this.#end(connection, endedBy, lastHeartbeatAt);
  }

  /** A reason: the session is over for the core, and has to end at the edge. */
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
    // The last session that is claimed begins a review of the registry, which may end it.
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
