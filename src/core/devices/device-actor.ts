/**
 * One device's actor: the only place its sleep and signal sessions change. It holds their records, the connections
 * that carry them and a wake allowance, and nothing when nothing is going on: the directory makes it at the first
 * session and lets it go with the last; what is to be remembered is in the store.
 *
 * Messages are handled one at a time, each to its end, in the turn they are posted. A message posted while
 * another is being handled waits in the mailbox; the mailbox is made when first needed and bounded.
 */
import { assert } from '../../lib/assert.ts';
import { BoundedQueue } from '../../lib/bounded-queue.ts';
import { fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { ConnectionRecord, ConnectionTimes } from '../../model/connectivity.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { mailboxMessagesMax } from '../../model/limits.ts';
import type { SignalEndReason } from '../../model/signal.ts';
import type { SleepEndReason, WakeMode } from '../../model/sleep.ts';
import { reduceConnection, type SessionChange } from '../../model/state/connection-session.ts';
import { canWake } from '../../model/state/wake-decision.ts';
import type { SlotClaimed } from '../ports/slot-follower.ts';
import type { SignalConnection } from '../ports/signal-connection.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';
import type { ActorMessage } from './actor-message.ts';
import { timesOf, withTimes } from './record-times.ts';

/** What the actor needs of the house; one for all actors. `change` null: there is nothing to tell. */
export interface ActorDeps {
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

export class DeviceActor {
  readonly deviceId: DeviceId;
  readonly #deps: ActorDeps;
  #sleep: ConnectionRecord;
  #sleepConnection: SleepConnection | null = null;
  #wakeMode: WakeMode = 'none';
  /** Read when it is first needed: most devices here only sleep. */
  #signal: ConnectionRecord | null = null;
  #signalConnection: SignalConnection | null = null;
  /** The epoch of the open session as all members know it; 0: as here. */
  #sharedSleepEpoch = 0;
  #sharedSignalEpoch = 0;
  #secretMark = 0;
  #handling = false;
  #mailbox: BoundedQueue<ActorMessage> | null = null;
  #allowance: TokenBucket | null = null;

  constructor(deviceId: DeviceId, sleep: ConnectionRecord, deps: ActorDeps) {
    this.deviceId = deviceId;
    this.#deps = deps;
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

  /** The open sleep epoch as backends are told it, or 0: sockets carry the one that is counted here. */
  get toldSleepEpoch(): number {
    return this.#sleepConnection === null ? 0 : this.#sharedSleepEpoch || this.#sleep.epoch;
  }

  get toldSignalEpoch(): number {
    return this.#signalConnection === null ? 0 : this.#sharedSignalEpoch || this.#signalRecord().epoch;
  }

  /** The open sleep session, or null. */
  get sleepSession(): SessionId | null {
    return this.#sleepConnection === null ? null : this.#sleep.openSession;
  }

  get signalSession(): SessionId | null {
    return this.#signalConnection === null ? null : this.#signalRecord().openSession;
  }

  /** What carries the signal session; null: the controller is not online. */
  get signalConnection(): SignalConnection | null {
    return this.#signalConnection;
  }

  /** Of the secret that the sessions were proven with: they have one in common. */
  get secretMark(): number {
    return this.#secretMark;
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

  /** What its members share of the session, if it is still open: its epoch, and what the others have seen of the device. */
  adopt({ connection, session, epoch, times }: SlotClaimed): void {
    if (connection === 'sleep' && session === this.sleepSession) {
      this.#sharedSleepEpoch = epoch;
      this.#sleep = withTimes(this.#sleep, times);
    } else if (connection === 'signal' && session === this.signalSession) {
      this.#sharedSignalEpoch = epoch;
      this.#signal = withTimes(this.#signalRecord(), times);
    }
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
      if (this.#sleepConnection === null && this.#signalConnection === null) this.#deps.release(this);
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
    if ('connection' in message) {
      if (message.secretMark !== this.#secretMark) this.#disconnectSignal(message.event.atMs);
      this.#secretMark = message.secretMark;
    }
    const { record, effects } = reduceConnection(this.#sleep, message.event);
    const previous = this.#sleepConnection;
    const sharedEpoch = this.#sharedSleepEpoch;
    this.#sleep = record;
    if ('connection' in message) {
      this.#sleepConnection = message.connection;
      this.#wakeMode = message.wakeMode;
      this.#sharedSleepEpoch = 0;
    } else if (record.openSession === null) this.#sleepConnection = null;
    for (const effect of effects)
      if (effect.kind === 'save')
        this.#deps.sleepChanged(this.deviceId, record, asTold(effect.change, sharedEpoch));
      else closePrevious(previous, effect.reason);
  }

  #handleSignal(message: Extract<ActorMessage, { to: 'signal' }>): void {
    // Nothing is open, so nothing would change: a device that only sleeps can be let go without its signal record.
    if (this.#signalConnection === null && !('connection' in message)) return;
    if ('connection' in message) {
      if (message.secretMark !== this.#secretMark) this.#disconnectSleep(message.event.atMs);
      this.#secretMark = message.secretMark;
    }
    const { record, effects } = reduceConnection(this.#signalRecord(), message.event);
    const previous = this.#signalConnection;
    const media = 'connection' in message ? message.media : null;
    const sharedEpoch = this.#sharedSignalEpoch;
    this.#signal = record;
    if ('connection' in message) {
      this.#signalConnection = message.connection;
      this.#sharedSignalEpoch = 0;
    } else if (record.openSession === null) this.#signalConnection = null;
    for (const effect of effects)
      if (effect.kind === 'save')
        this.#deps.signalChanged(this.deviceId, record, asTold(effect.change, sharedEpoch), media);
      else closePrevious(previous, effect.reason);
  }

  /** It was proven with a secret that the device does not have any more. */
  #disconnectSignal(atMs: number): void {
    this.#signalConnection?.deny();
    const { signalHeartbeatAt: heartbeatAt } = this;
    this.#handleSignal({ to: 'signal', event: { kind: 'disconnect', reason: 'kicked', atMs, heartbeatAt } });
  }

  #disconnectSleep(atMs: number): void {
    const { sleepHeartbeatAt: heartbeatAt } = this;
    this.#handleSleep({ to: 'sleep', event: { kind: 'disconnect', reason: 'kicked', atMs, heartbeatAt } });
  }

  #findWakeable(carriesCustomData: boolean): SleepConnection | 40412 | 40902 {
    if (this.#sleepConnection === null) return 40412;
    return canWake(this.#wakeMode, carriesCustomData) ? this.#sleepConnection : 40902;
  }

  #signalRecord(): ConnectionRecord {
    return (this.#signal ??= this.#deps.readSignal(this.deviceId));
  }
}

/** A session that ends is told by the epoch that all members know it by; the one of a login is not known yet. */
function asTold<Reason extends string>(
  change: SessionChange<Reason> | null,
  sharedEpoch: number,
): SessionChange<Reason> | null {
  return change?.kind === 'closed' && sharedEpoch !== 0 ? { ...change, epoch: sharedEpoch } : change;
}

function closePrevious<Reason>(connection: { close(reason: Reason): void } | null, reason: Reason): void {
  assert(connection !== null, 'an open session has a connection');
  connection.close(reason);
}
