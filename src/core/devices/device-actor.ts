/**
 * One device's actor: the only place its sleep and signal sessions change. It holds their records, the connections
 * that carry them and a wake allowance, and nothing when nothing is going on: the directory makes it at the first
 * session and lets it go with the last; what is to be remembered is in the store. Both sessions are one machine, typed
 * by the kind of their connection.
 *
 * Messages are handled one at a time, each to its end, in the turn they are posted. A message posted while
 * another is being handled waits in the mailbox; the mailbox is made when first needed and bounded.
 */
import { BoundedQueue } from '../../lib/queues.ts';
import { fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecord, ConnectionTimes } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { mailboxMessagesMax } from '../../model/limits.ts';
import type { SignalEndReason } from '../../model/signal.ts';
import type { SleepEndReason, WakeMode } from '../../model/sleep.ts';
import {
  reduceConnection,
  type ConnectionEvent,
  type SessionChange,
} from '../../model/state/connection-session.ts';
import type { MovedSession, SignalConnection, SleepConnection } from '../ports/device-sessions.ts';
import type { SlotClaimed } from '../ports/session-locator.ts';

interface ConnectionOf {
  readonly sleep: SleepConnection;
  readonly signal: SignalConnection;
}

/** The ports of the two gateways give each kind its own. */
export type EndReason = SleepEndReason | SignalEndReason;

/** What a login of the kind says of the device. */
interface LoginDetailOf {
  readonly sleep: { readonly wakeMode: WakeMode };
  readonly signal: { readonly media: JsonObject | null };
}

type Login = { readonly kind: 'login' };

export type LoginMessage<Kind extends ConnectionKind> = LoginDetailOf[Kind] & {
  readonly to: Kind;
  readonly event: Extract<ConnectionEvent<EndReason>, Login>;
  readonly connection: ConnectionOf[Kind];
  /** Of the secret that the login was proven with; 32 bits, signed. */
  readonly secretMark: number;
};

interface EventMessage {
  readonly to: ConnectionKind;
  readonly event: Exclude<ConnectionEvent<EndReason>, Login>;
}

/** An event of one of the two sessions; a login with what only this process can hold. */
export type ActorMessage = LoginMessage<'sleep'> | LoginMessage<'signal'> | EventMessage;

/** What the actor needs; one for all actors. */
export interface ActorDeps {
  /** The device's kept record. Throws when the store cannot be read. */
  readRecord(connection: ConnectionKind, deviceId: DeviceId): ConnectionRecord;
  /** `change` null: there is nothing to tell. `media`: of a signal login. */
  changed(
    connection: ConnectionKind,
    deviceId: DeviceId,
    record: ConnectionRecord,
    change: SessionChange<EndReason> | null,
    media: JsonObject | null,
  ): void;
  release(actor: DeviceActor): void;
}

/**
 * One of the device's two sessions, open or not. The record of an open session that no connection carries here is not kept: an
 * edge may bring it, or it may end as lost in the store.
 */
interface SessionState<Connection> {
  record: ConnectionRecord;
  /** Null: no session is open. */
  connection: Connection | null;
}

export class DeviceActor {
  readonly deviceId: DeviceId;
  readonly #deps: ActorDeps;
  /** Each is read when it is first needed: most devices here have one of them. */
  #sleep: SessionState<SleepConnection> | null = null;
  #signal: SessionState<SignalConnection> | null = null;
  #wakeMode: WakeMode = 'none';
  #secretMark = 0;
  #handling = false;
  #mailbox: BoundedQueue<ActorMessage> | null = null;
  #allowance: TokenBucket | null = null;

  constructor(deviceId: DeviceId, deps: ActorDeps) {
    this.deviceId = deviceId;
    this.#deps = deps;
  }

  /** What carries the open session of the kind, or null. */
  connection<Kind extends ConnectionKind>(kind: Kind): ConnectionOf[Kind] | null;
  connection(kind: ConnectionKind): ConnectionOf[ConnectionKind] | null {
    return this.#state(kind)?.connection ?? null;
  }

  /** The open session, or null. */
  session(kind: ConnectionKind): SessionId | null {
    return this.#openState(kind)?.record.openSession ?? null;
  }

  /** The open session's epoch, which is provisional until its slot is claimed; 0: none is open. */
  epoch(kind: ConnectionKind): number {
    return this.#openState(kind)?.record.epoch ?? 0;
  }

  /** Unix seconds of the latest heartbeat on the live connection; 0: none, or no connection. */
  heartbeatAt(kind: ConnectionKind): number {
    return this.connection(kind)?.lastHeartbeatAt ?? 0;
  }

  /** What is observed of the connection now, the latest heartbeat included. Throws when the store cannot be read. */
  times(kind: ConnectionKind): ConnectionTimes {
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = this.#record(kind);
    return { lastLoginAt, lastHeartbeatAt: this.heartbeatAt(kind) || lastHeartbeatAt, lastOfflineAt };
  }

  /** Of the secret that the sessions were proven with: they have one in common. */
  get secretMark(): number {
    return this.#secretMark;
  }

  /** What its members share of the session, if it is still open: its epoch, and what the others have seen of the device. */
  adopt({ connection, session, epoch, times }: SlotClaimed): void {
    const state = this.#openState(connection);
    if (state === null || state.record.openSession !== session) return;
    // The latest heartbeat may not have come to all members.
    const lastHeartbeatAt = Math.max(state.record.lastHeartbeatAt ?? 0, times.lastHeartbeatAt ?? 0) || null;
    const { lastLoginAt, lastOfflineAt } = times;
    state.record = { ...state.record, epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
  }

  /** The connection that a wake packet is to be written to, or why there is none. Source: decisions.md, Wakeup. */
  findWakeable(carriesCustomData: boolean): SleepConnection | 40412 | 40902 {
    const connection = this.connection('sleep');
    if (connection === null) return 40412;
    const canWake = this.#wakeMode === 'custom' || (this.#wakeMode === 'fixed' && !carriesCustomData);
    return canWake ? connection : 40902;
  }

  /** The tokens of this device's wake limit, made full at the first wake. */
  wakeAllowance(rate: Rate, nowMs: number): TokenBucket {
    return (this.#allowance ??= fullBucket(rate, nowMs));
  }

  /**
   * The session that an edge brings is this connection's. Returns its epoch; null: by the store it is over. Throws when the
   * store cannot be read.
   */
  adoptSleep(moved: MovedSession, connection: SleepConnection): number | null {
    const isFree = this.connection('sleep') === null;
    const record = this.#record('sleep');
    if (!isFree || record.openSession !== moved.sessionId) {
      if (isFree && this.connection('signal') === null) this.#deps.release(this);
      return null;
    }
    this.#sleep = { record, connection };
    this.#wakeMode = moved.wakeMode;
    this.#secretMark = moved.secretMark;
    return record.epoch;
  }

  /** False: the mailbox is full and the message was not taken. Throws when the store cannot be read. */
  post(message: ActorMessage): boolean {
    if (this.#handling) return (this.#mailbox ??= new BoundedQueue(mailboxMessagesMax)).push(message);
    this.#handling = true;
    try {
      for (let next: ActorMessage | undefined = message; next !== undefined; next = this.#mailbox?.shift())
        this.#handle(next);
    } finally {
      this.#handling = false;
      if (this.connection('sleep') === null && this.connection('signal') === null) this.#deps.release(this);
    }
    return true;
  }

  #handle(message: ActorMessage): void {
    const login = 'connection' in message ? message : null;
    // Nothing is open, so nothing would change: a device that only sleeps can be let go without its signal record.
    if (login === null && this.connection(message.to) === null) return;
    if (login !== null) {
      if (login.secretMark !== this.#secretMark)
        this.#disconnectUnproven(login.to === 'sleep' ? 'signal' : 'sleep', login.event.atMs);
      this.#secretMark = login.secretMark;
    }
    const state = this.#state(message.to);
    const previous = this.connection(message.to);
    const { record, effects } = reduceConnection<EndReason>(this.#record(message.to), message.event);
    if (login !== null) this.#open(login, record);
    else if (state !== null) {
      state.record = record;
      if (record.openSession === null) state.connection = null;
    }
    const media = login?.to === 'signal' ? login.media : null;
    for (const effect of effects)
      if (effect.kind === 'save') this.#deps.changed(message.to, this.deviceId, record, effect.change, media);
      else closePrevious(previous, effect.reason);
  }

  #open(login: LoginMessage<'sleep'> | LoginMessage<'signal'>, record: ConnectionRecord): void {
    if (login.to === 'signal') {
      this.#signal = { record, connection: login.connection };
      return;
    }
    this.#sleep = { record, connection: login.connection };
    this.#wakeMode = login.wakeMode;
  }

  /** The session was proven with a secret that the device does not have any more. */
  #disconnectUnproven(to: ConnectionKind, atMs: number): void {
    if (to === 'signal') this.connection('signal')?.deny();
    const event = { kind: 'disconnect', reason: 'kicked', atMs, heartbeatAt: this.heartbeatAt(to) } as const;
    this.#handle({ to, event });
  }

  #openState(kind: ConnectionKind): SessionState<ConnectionOf[ConnectionKind]> | null {
    return this.connection(kind) === null ? null : this.#state(kind);
  }

  #state(kind: ConnectionKind): SessionState<ConnectionOf[ConnectionKind]> | null {
    return kind === 'sleep' ? this.#sleep : this.#signal;
  }

  #record(kind: ConnectionKind): ConnectionRecord {
    const kept = this.#state(kind);
    if (kept !== null) return kept.record;
    const record = this.#deps.readRecord(kind, this.deviceId);
    if (record.openSession !== null) return record;
    if (kind === 'sleep') this.#sleep = { record, connection: null };
    else this.#signal = { record, connection: null };
    return record;
  }
}

/** Null: the session is of an earlier core, and the edge that brings it is ordered to close it. */
function closePrevious(connection: { close(reason: EndReason): void } | null, reason: EndReason): void {
  connection?.close(reason);
}
