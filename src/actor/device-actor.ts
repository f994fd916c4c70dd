/**
 * One device's actor: the only place its sleep session changes. It holds a state, the connection that carries
 * it and a wake allowance, and nothing when nothing is going on: the directory makes it at the first session
 * and lets it go with the last; what is to be remembered is in the store.
 *
 * Messages are handled one at a time, each to its end, in the turn they are posted. A message posted while
 * another is being handled waits in the mailbox; the mailbox is made when first needed and bounded.
 */
import { assert } from '../base/assert.ts';
import { BoundedQueue } from '../base/bounded-queue.ts';
import { fullBucket, type Rate, type TokenBucket } from '../base/token-bucket.ts';
import type { ConnectionRecord, ConnectionTimes } from '../domain/connectivity.ts';
import type { DeviceId } from '../domain/ids.ts';
import { mailboxMessagesMax } from '../domain/limits.ts';
import {
  offline,
  reduceSleep,
  type SleepEffect,
  type SleepEvent,
  type SleepState,
} from '../device/sleep-session.ts';
import type { SleepConnection } from '../ports/sleep-connection.ts';

/** What the actor needs of the house; one for all actors. */
export interface ActorHouse {
  save(deviceId: DeviceId, record: ConnectionRecord): void;
  release(actor: DeviceActor): void;
}

export type WakeReply = (answer: SleepConnection | 40412 | 40902) => void;

/** An event of the sleep machine with what only this process can hold: a socket, a caller to answer. */
export type DeviceMessage =
  | { readonly event: Extract<SleepEvent, { kind: 'login' }>; readonly connection: SleepConnection }
  | { readonly event: Extract<SleepEvent, { kind: 'ended' | 'expel' | 'note-heartbeat' }> }
  | { readonly event: Extract<SleepEvent, { kind: 'wake' }>; readonly reply: WakeReply };

export class DeviceActor {
  readonly deviceId: DeviceId;
  readonly #house: ActorHouse;
  #sleep: SleepState;
  #connection: SleepConnection | null = null;
  #handling = false;
  #mailbox: BoundedQueue<DeviceMessage> | null = null;
  #allowance: TokenBucket | null = null;

  constructor(deviceId: DeviceId, record: ConnectionRecord, house: ActorHouse) {
    this.deviceId = deviceId;
    this.#house = house;
    this.#sleep = offline(record);
  }

  /** The open sleep epoch, or 0. */
  get sleepEpoch(): number {
    return this.#sleep.kind === 'asleep' ? this.#sleep.record.epoch : 0;
  }

  /** Unix seconds of the latest heartbeat on the live connection; 0: none, or no connection. */
  get heartbeatAt(): number {
    return this.#connection?.lastHeartbeatAt ?? 0;
  }

  /** What is observed of the sleep connection now, the latest heartbeat included. */
  sleepTimes(): ConnectionTimes {
    const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = this.#sleep.record;
    return { lastLoginAt, lastHeartbeatAt: this.heartbeatAt || lastHeartbeatAt, lastOfflineAt };
  }

  /** The tokens of this device's wake limit, made full at the first wake. */
  wakeAllowance(rate: Rate, nowMs: number): TokenBucket {
    return (this.#allowance ??= fullBucket(rate, nowMs));
  }

  /** False: the mailbox is full and the message was not taken. */
  post(message: DeviceMessage): boolean {
    if (this.#handling) return (this.#mailbox ??= new BoundedQueue(mailboxMessagesMax)).push(message);
    this.#handling = true;
    try {
      for (let next: DeviceMessage | undefined = message; next !== undefined; next = this.#mailbox?.shift())
        this.#handle(next);
    } finally {
      this.#handling = false;
    }
    return true;
  }

  #handle(message: DeviceMessage): void {
    const { state, effects } = reduceSleep(this.#sleep, message.event);
    const previous = this.#connection;
    this.#sleep = state;
    if ('connection' in message) this.#connection = message.connection;
    else if (state.kind === 'offline') this.#connection = null;
    for (const effect of effects) this.#perform(effect, message, previous);
  }

  #perform(effect: SleepEffect, message: DeviceMessage, previous: SleepConnection | null): void {
    switch (effect.kind) {
      case 'save':
        this.#house.save(this.deviceId, this.#sleep.record);
        break;
      case 'close-previous':
        assert(previous !== null, 'a session has a connection');
        previous.close(effect.reason);
        break;
      case 'release':
        this.#house.release(this);
        break;
      case 'write-wake':
        assert('reply' in message && this.#connection !== null, 'a wake has a caller and a connection');
        message.reply(this.#connection);
        break;
      case 'refuse-wake':
        assert('reply' in message, 'a wake has a caller');
        message.reply(effect.code);
        break;
    }
  }
}
