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

/** One of the device's two sessions, open or not. */
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
    return (kind === 'sleep' ? this.#sleep : this.#signal)?.connection ?? null;
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
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = this.#state(kind).record;
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
    // It may have ended as lost while the device was online here.
    if (this.connection('sleep') === null) this.#forget('sleep');
    const state = this.#sleepState();
    if (state.connection !== null || state.record.openSession !== moved.sessionId) {
      if (state.connection === null && this.connection('signal') === null) this.#deps.release(this);
      return null;
    }
    state.connection = connection;
    this.#wakeMode = moved.wakeMode;
    this.#secretMark = moved.secretMark;
    return state.record.epoch;
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
      // Without a connection, the session that the record had open may have ended as lost meanwhile: it is read again.
      if (this.connection(login.to) === null) this.#forget(login.to);
    }
    const state = this.#state(message.to);
    const { connection: previous } = state;
    const { record, effects } = reduceConnection<EndReason>(state.record, message.event);
    state.record = record;
    if (login !== null) this.#open(login);
    else if (record.openSession === null) state.connection = null;
    const media = login?.to === 'signal' ? login.media : null;
    for (const effect of effects)
      if (effect.kind === 'save') this.#deps.changed(message.to, this.deviceId, record, effect.change, media);
      else closePrevious(previous, effect.reason);
  }

  #forget(kind: ConnectionKind): void {
    if (kind === 'sleep') this.#sleep = null;
    else this.#signal = null;
  }

  #open(login: LoginMessage<'sleep'> | LoginMessage<'signal'>): void {
    if (login.to === 'signal') {
      this.#signalState().connection = login.connection;
      return;
    }
    this.#sleepState().connection = login.connection;
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

  #state(kind: ConnectionKind): SessionState<ConnectionOf[ConnectionKind]> {
    return kind === 'sleep' ? this.#sleepState() : this.#signalState();
  }

  #sleepState(): SessionState<SleepConnection> {
    return (this.#sleep ??= unopened(this.#deps.readRecord('sleep', this.deviceId)));
  }

  #signalState(): SessionState<SignalConnection> {
    return (this.#signal ??= unopened(this.#deps.readRecord('signal', this.deviceId)));
  }
}

function unopened(record: ConnectionRecord): SessionState<never> {
  return { record, connection: null };
}

/** Null: the session is of an earlier core, and the edge that brings it is ordered to close it. */
function closePrevious(connection: { close(reason: EndReason): void } | null, reason: EndReason): void {
  connection?.close(reason);
}
