/**
 * One device's actor: the only place where its sleep and signal sessions change. It holds their records, their connections and a
 * wake allowance. The directory creates it with the first session and drops it after the last; lasting state is in the store. Both
 * sessions use one state machine, typed by the kind of connection.
 *
 * Messages are handled one at a time, each to its end, in the turn in which they are posted. A message posted during another waits
 * in the mailbox, which is created when first needed, and bounded.
 */
import { BoundedQueue } from '../../lib/collections/queues.ts';
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

/** Each gateway's port narrows this to its own kind. */
export type EndReason = SleepEndReason | SignalEndReason;

interface LoginDetailOf {
  readonly sleep: { readonly wakeMode: WakeMode };
  readonly signal: { readonly media: JsonObject | null };
}

type Login = { readonly kind: 'login' };

export type LoginMessage<Kind extends ConnectionKind> = LoginDetailOf[Kind] & {
  readonly to: Kind;
  readonly event: Extract<ConnectionEvent<EndReason>, Login>;
  readonly connection: ConnectionOf[Kind];
  /** Mark of the secret that proved the login; 32 bits, signed. */
  readonly secretMark: number;
};

interface EventMessage {
  readonly to: ConnectionKind;
  readonly event: Exclude<ConnectionEvent<EndReason>, Login>;
}

/** An event of one of the two sessions; a login carries its connection and details. */
export type ActorMessage = LoginMessage<'sleep'> | LoginMessage<'signal'> | EventMessage;

export interface ActorDeps {
  /** The device's stored record. Throws when the store cannot be read. */
  readRecord(connection: ConnectionKind, deviceId: DeviceId): ConnectionRecord;
  /** `change` null: no event. `media`: from a signal login. */
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
 * One of the device's two sessions, open or closed. An open session without a connection here is not cached: an edge may hand it
 * over, or it may end as lost in the store.
 */
interface SessionState<Connection> {
  record: ConnectionRecord;
  connection: Connection | null;
}

export class DeviceActor {
  readonly deviceId: DeviceId;
  readonly #deps: ActorDeps;
  /** Read on first use: most connected devices have one of the two. */
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

  connection<Kind extends ConnectionKind>(kind: Kind): ConnectionOf[Kind] | null;
  connection(kind: ConnectionKind): ConnectionOf[ConnectionKind] | null {
    return this.#state(kind)?.connection ?? null;
  }

  session(kind: ConnectionKind): SessionId | null {
    return this.#openState(kind)?.record.openSession ?? null;
  }

  /** Epoch of the open session, provisional until its slot is claimed; 0: none. */
  epoch(kind: ConnectionKind): number {
    return this.#openState(kind)?.record.epoch ?? 0;
  }

  /** Unix seconds of the latest heartbeat on the open connection; 0: none. */
  heartbeatAt(kind: ConnectionKind): number {
    return this.connection(kind)?.lastHeartbeatAt ?? 0;
  }

  /** Current times of the connection, including the latest heartbeat. Throws when the store cannot be read. */
  times(kind: ConnectionKind): ConnectionTimes {
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = this.#record(kind);
    return { lastLoginAt, lastHeartbeatAt: this.heartbeatAt(kind) || lastHeartbeatAt, lastOfflineAt };
  }

  /** Mark of the secret that proved the sessions; both have the same. */
  get secretMark(): number {
    return this.#secretMark;
  }

  /** Applies the shared row to the session if it is still open: its epoch, and the times that other members observed. */
  adopt({ connection, session, epoch, times }: SlotClaimed): void {
    const state = this.#openState(connection);
    if (state === null || state.record.openSession !== session) return;
    // The shared row may lack the latest heartbeat.
    const lastHeartbeatAt = Math.max(state.record.lastHeartbeatAt ?? 0, times.lastHeartbeatAt ?? 0) || null;
    const { lastLoginAt, lastOfflineAt } = times;
    state.record = { ...state.record, epoch, lastLoginAt, lastHeartbeatAt, lastOfflineAt };
  }

  /** Connection for a wake packet, or the code of the refusal. Source: decisions.md, Wakeup. */
  findWakeable(carriesCustomData: boolean): SleepConnection | 40412 | 40902 {
    const connection = this.connection('sleep');
    if (connection === null) return 40412;
    const canWake = this.#wakeMode === 'custom' || (this.#wakeMode === 'fixed' && !carriesCustomData);
    return canWake ? connection : 40902;
  }

  /** Token bucket of this device's wake limit, created full at the first wakeup. */
  wakeAllowance(rate: Rate, nowMs: number): TokenBucket {
    return (this.#allowance ??= fullBucket(rate, nowMs));
  }

  /**
   * Adopts a session that an edge hands over for this connection. Returns its epoch; null: over according to the store. Throws when
   * the store cannot be read.
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

  /** False: the mailbox is full, and the message was dropped. Throws when the store cannot be read. */
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
    // Without an open session nothing changes, so the actor of a device that only sleeps can be dropped without reading its signal
    // record.
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

/** Null: a session of an earlier core, which its edge is ordered to close when it hands it over. */
function closePrevious(connection: { close(reason: EndReason): void } | null, reason: EndReason): void {
  connection?.close(reason);
}
