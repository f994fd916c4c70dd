/**
 * One device's actor: the only place its sleep and signal sessions change. It holds their records, the connections
 * that carry them and a wake allowance, and nothing when nothing is going on: the directory makes it at the first
 * session and lets it go with the last; what is to be remembered is in the store.
 *
 * Messages are handled one at a time, each to its end, in the turn they are posted. A message posted while
 * another is being handled waits in the mailbox; the mailbox is made when first needed and bounded.
 */
import { assert } from '../base/assert.ts';
import { BoundedQueue } from '../base/bounded-queue.ts';
import { fullBucket, type Rate, type TokenBucket } from '../base/token-bucket.ts';
import type { ConnectionRecord, ConnectionTimes } from '../domain/connectivity.ts';
import type { DeviceId } from '../domain/ids.ts';
import type { JsonObject } from '../domain/json.ts';
import { mailboxMessagesMax } from '../domain/limits.ts';
import type { SignalEndReason } from '../domain/signal.ts';
import type { SleepEndReason, WakeMode } from '../domain/sleep.ts';
import { reduceConnection, type ConnectionEvent, type SessionChange } from '../device/connection-session.ts';
import { canWake } from '../device/wake-decision.ts';
import type { SignalConnection } from '../ports/signal-connection.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';

/** What the actor needs of the house; one for all actors. `change` null: only a heartbeat was noted. */
export interface ActorHouse {
  /** The device's signal record. Throws when the store cannot be read. */
  readSignal(deviceId: DeviceId): ConnectionRecord;
  sleepChanged(
    deviceId: DeviceId,
    record: ConnectionRecord,
    change: SessionChange<SleepEndReason> | null,
  ): void;
  signalChanged(
    deviceId: DeviceId,
    record: ConnectionRecord,
    change: SessionChange<SignalEndReason> | null,
    media: JsonObject | null,
  ): void;
  release(actor: DeviceActor): void;
}

export type WakeReply = (answer: SleepConnection | 40412 | 40902) => void;

type Login = { readonly kind: 'login' };
type SleepEvent = ConnectionEvent<SleepEndReason>;
type SignalEvent = ConnectionEvent<SignalEndReason>;

/** An event of one of the machines with what only this process can hold: a socket, a caller to answer. */
export type ActorMessage =
  | {
      readonly to: 'sleep';
      readonly event: Extract<SleepEvent, Login>;
      readonly connection: SleepConnection;
      readonly wakeMode: WakeMode;
    }
  | { readonly to: 'sleep'; readonly event: Exclude<SleepEvent, Login> }
  | {
      readonly to: 'signal';
      readonly event: Extract<SignalEvent, Login>;
      readonly connection: SignalConnection;
      readonly media: JsonObject | null;
    }
  | { readonly to: 'signal'; readonly event: Exclude<SignalEvent, Login> }
  | { readonly to: 'wake'; readonly carriesCustomData: boolean; readonly reply: WakeReply };

export class DeviceActor {
  readonly deviceId: DeviceId;
  readonly #house: ActorHouse;
  #sleep: ConnectionRecord;
  #sleepConnection: SleepConnection | null = null;
  #wakeMode: WakeMode = 'none';
  /** Read when it is first needed: most devices here only sleep. */
  #signal: ConnectionRecord | null = null;
  #signalConnection: SignalConnection | null = null;
  #handling = false;
  #mailbox: BoundedQueue<ActorMessage> | null = null;
  #allowance: TokenBucket | null = null;

  constructor(deviceId: DeviceId, sleep: ConnectionRecord, house: ActorHouse) {
    this.deviceId = deviceId;
    this.#house = house;
    this.#sleep = sleep;
  }

  /** The open sleep epoch, or 0. */
  get sleepEpoch(): number {
    return this.#sleepConnection === null ? 0 : this.#sleep.epoch;
  }

  /** The open signal epoch, or 0. */
  get signalEpoch(): number {
    return this.#signalConnection === null ? 0 : this.#signalRecord().epoch;
  }

  /** What carries the signal session; null: the controller is not online. */
  get signalConnection(): SignalConnection | null {
    return this.#signalConnection;
  }

  /** Unix seconds of the latest heartbeat on the live connection; 0: none, or no connection. */
  get sleepHeartbeatAt(): number {
    return this.#sleepConnection?.lastHeartbeatAt ?? 0;
  }

  get signalHeartbeatAt(): number {
    return this.#signalConnection?.lastHeartbeatAt ?? 0;
  }

  /** What is observed of the sleep connection now, the latest heartbeat included. */
  sleepTimes(): ConnectionTimes {
    return timesOf(this.#sleep, this.sleepHeartbeatAt);
  }

  /** The same of the signal connection. Throws when the store cannot be read. */
  signalTimes(): ConnectionTimes {
    return timesOf(this.#signalRecord(), this.signalHeartbeatAt);
  }

  /** The tokens of this device's wake limit, made full at the first wake. */
  wakeAllowance(rate: Rate, nowMs: number): TokenBucket {
    return (this.#allowance ??= fullBucket(rate, nowMs));
  }

  /** False: the mailbox is full and the message was not taken. */
  post(message: ActorMessage): boolean {
    if (this.#handling) return (this.#mailbox ??= new BoundedQueue(mailboxMessagesMax)).push(message);
    this.#handling = true;
    try {
      for (let next: ActorMessage | undefined = message; next !== undefined; next = this.#mailbox?.shift())
        this.#handle(next);
    } finally {
      this.#handling = false;
      if (this.#sleepConnection === null && this.#signalConnection === null) this.#house.release(this);
    }
    return true;
  }

  #handle(message: ActorMessage): void {
    switch (message.to) {
      case 'sleep':
        return this.#handleSleep(message);
      case 'signal':
        return this.#handleSignal(message);
      case 'wake':
        return message.reply(this.#findWakeable(message.carriesCustomData));
    }
  }

  #handleSleep(message: Extract<ActorMessage, { to: 'sleep' }>): void {
    const { record, effects } = reduceConnection(this.#sleep, message.event);
    const previous = this.#sleepConnection;
    this.#sleep = record;
    if ('connection' in message) {
      this.#sleepConnection = message.connection;
      this.#wakeMode = message.wakeMode;
    } else if (record.openSession === null) this.#sleepConnection = null;
    for (const effect of effects)
      if (effect.kind === 'save') this.#house.sleepChanged(this.deviceId, record, effect.change);
      else closePrevious(previous, effect.reason);
  }

  #handleSignal(message: Extract<ActorMessage, { to: 'signal' }>): void {
    // Nothing is open, so nothing would change: a device that only sleeps can be let go without its signal record.
    if (this.#signalConnection === null && !('connection' in message)) return;
    const { record, effects } = reduceConnection(this.#signalRecord(), message.event);
    const previous = this.#signalConnection;
    const media = 'connection' in message ? message.media : null;
    this.#signal = record;
    if ('connection' in message) this.#signalConnection = message.connection;
    else if (record.openSession === null) this.#signalConnection = null;
    for (const effect of effects)
      if (effect.kind === 'save') this.#house.signalChanged(this.deviceId, record, effect.change, media);
      else closePrevious(previous, effect.reason);
  }

  #findWakeable(carriesCustomData: boolean): SleepConnection | 40412 | 40902 {
    if (this.#sleepConnection === null) return 40412;
    return canWake(this.#wakeMode, carriesCustomData) ? this.#sleepConnection : 40902;
  }

  #signalRecord(): ConnectionRecord {
    return (this.#signal ??= this.#house.readSignal(this.deviceId));
  }
}

function timesOf(record: ConnectionRecord, heartbeatAt: number): ConnectionTimes {
  const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = record;
  return { lastLoginAt, lastHeartbeatAt: heartbeatAt || lastHeartbeatAt, lastOfflineAt };
}

function closePrevious<Reason>(connection: { close(reason: Reason): void } | null, reason: Reason): void {
  assert(connection !== null, 'an open session has a connection');
  connection.close(reason);
}
