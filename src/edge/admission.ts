/**
 * Admits connections to the handshake: each gets its session key now, waits for it, or is turned away. Three bounds hold
 * it back: keys per second, handshakes in progress, and handshakes in progress from one address. Beyond the last two a
 * handshake in progress is evicted by the rule of `Crowd`, or the applicant waits in the queue of its address. The queues
 * are served fairly, one key each, so neither a crowd behind one address nor a hostile one delays anybody else.
 * An applicant that has waited long enough withdraws by itself. Source: sleep-wire.md, Storms.
 */
import { assert } from '../lib/assert.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { Crowd } from '../lib/connections/crowd.ts';
import { WaitingLine, type Waiter } from '../lib/connections/waiting-line.ts';
import { fullBucket, spendTokens, waitForToken, type Rate, type TokenBucket } from '../lib/token-bucket.ts';
import { admissionQueueShareMax } from '../model/limits.ts';
import type { SleepSettings } from './settings.ts';

export interface Applicant {
  /** An address key; set once, before it applies. */
  readonly address: string;
  /** Its handshake may begin. */
  admitted(): void;
  /** Its place is given to another one. */
  evict(): void;
}

/** An address with waiting applicants: in the line of those that are ready, of those that lack a place, or in neither. */
class AddressQueue implements Waiter<AddressQueue> {
  readonly address: string;
  line: WaitingLine<AddressQueue> | null = null;
  ahead: AddressQueue | null = null;
  behind: AddressQueue | null = null;

  constructor(address: string) {
    this.address = address;
  }
}

export type AdmissionSettings = Pick<
  SleepSettings,
  | 'accepts_per_second'
  | 'accept_ramp_s'
  | 'handshakes_max'
  | 'handshakes_per_address_max'
  | 'behind_balancer'
  | 'proxy_protocol'
  | 'admission_queue_max'
>;

/** Keys that may be given at once after a quiet time: those of this part of a second. */
const burstSeconds = 0.1;
/** Where a ramp begins, as a part of the full rate. */
const rampStart = 0.1;

export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #bucket: TokenBucket;
  readonly #addressMax: number;
  readonly #queueWaitingMax: number;
  readonly #inside = new Crowd<Applicant>();
  readonly #waiting = new Crowd<Applicant>();
  readonly #queues = new Map<string, AddressQueue>();
  readonly #ready = new WaitingLine<AddressQueue>();
  /** Queues for which no handshake is evicted, because their address has as many as any. */
  readonly #blocked = new WaitingLine<AddressQueue>();
  #isClosed = false;
  #retry: Cancel | null = null;

  constructor(settings: AdmissionSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#bucket = fullBucket(this.#rate(this.#startedMs), this.#startedMs);
    this.#addressMax = addressHandshakesMax(settings);
    this.#queueWaitingMax = this.countsAddresses
      ? Math.ceil(settings.admission_queue_max * admissionQueueShareMax)
      : Infinity;
  }

  /** False: every applicant has the address ''. */
  get countsAddresses(): boolean {
    return this.#addressMax < Infinity;
  }

  /** Handshakes in progress. */
  get inside(): number {
    return this.#inside.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** True: `admitted` was or will be called. False: no room to wait; turn it away. */
  apply(applicant: Applicant): boolean {
    const { address } = applicant;
    const isFirst = this.#ready.length === 0 && this.#waiting.countOf(address) === 0;
    if (isFirst && this.#hasToken() && this.#hasPlace(address)) {
      this.#enter(applicant);
      return true;
    }
    if (!this.#hasRoomToWait(address)) return false;
    // Each waits with its grace: who has waited longest is not evicted for who has just come, unless its address has more.
    this.#waiting.add(address, applicant, Infinity);
    const queue = this.#queues.get(address) ?? new AddressQueue(address);
    this.#queues.set(address, queue);
    if (queue.line === null) this.#ready.push(queue);
    this.#serve();
    return true;
  }

  /** Its handshake is over, or it no longer waits. Does nothing for an applicant that did neither. */
  leave(applicant: Applicant): void {
    const { address } = applicant;
    if (this.#inside.delete(address, applicant)) {
      this.#unblock(this.#queues.get(address));
      this.#unblock(this.#blocked.first ?? undefined);
    } else if (this.#waiting.delete(address, applicant)) this.#dropIfEmpty(address);
    else return;
    this.#serve();
  }

  /** To be called about twice a second: handshakes have lost their grace meanwhile. */
  turn(): void {
    for (const queue of this.#queues.values()) this.#unblock(queue);
    this.#serve();
  }

  /** Admits no more. */
  close(): void {
    this.#isClosed = true;
    this.#retry?.();
    this.#retry = null;
  }

  #enter(applicant: Applicant): void {
    spendTokens(this.#bucket);
    this.#inside.add(applicant.address, applicant, this.#clock.monotonicMs());
    applicant.admitted();
  }

  /** Serves the queues in turn for as long as the bounds allow. */
  #serve(): void {
    while (this.#ready.first !== null && this.#hasToken()) {
      const queue = this.#ready.first;
      const { address } = queue;
      this.#ready.remove(queue);
      if (this.#hasPlace(address)) {
        const applicant = this.#waiting.shift(address);
        assert(applicant !== null, 'a queue that is ready has an applicant');
        if (!this.#dropIfEmpty(address)) this.#ready.push(queue);
        this.#enter(applicant);
      } else if (this.#inside.countOf(address) < this.#addressMax) this.#blocked.push(queue);
    }
  }

  /** A handshake of the address may begin, if need be in the place of another one. */
  #hasPlace(address: string): boolean {
    const { handshakes_max: max } = this.#settings;
    const perAddressMax = this.#addressMax;
    const nowMs = this.#clock.monotonicMs();
    return this.#inside.makeRoom(address, nowMs, { max, perAddressMax }, (evicted) => evicted.evict());
  }

  #hasRoomToWait(address: string): boolean {
    if (this.#waiting.countOf(address) >= this.#queueWaitingMax) return false;
    const limits = { max: this.#settings.admission_queue_max, perAddressMax: 0 };
    return this.#waiting.makeRoom(address, this.#clock.monotonicMs(), limits, (evicted) => {
      this.#dropIfEmpty(evicted.address);
      evicted.evict();
    });
  }

  /** Arms the retry where the rate does not allow another handshake now. */
  #hasToken(): boolean {
    if (this.#isClosed) return false;
    const nowMs = this.#clock.monotonicMs();
    const waitMs = Math.ceil(waitForToken(this.#bucket, this.#rate(nowMs), nowMs));
    if (waitMs > 0) this.#retry ??= this.#clock.after(waitMs, () => this.#retryNow());
    return waitMs === 0;
  }

  #retryNow(): void {
    this.#retry = null;
    this.#serve();
  }

  #rate(nowMs: number): Rate {
    const { accepts_per_second: acceptsPerSecond, accept_ramp_s: acceptRampSeconds } = this.#settings;
    const elapsed = (nowMs - this.#startedMs) / 1000;
    const part =
      elapsed >= acceptRampSeconds ? 1 : rampStart + (1 - rampStart) * (elapsed / acceptRampSeconds);
    const perSecond = acceptsPerSecond * part;
    return { perSecond, burst: Math.max(1, perSecond * burstSeconds) };
  }

  #unblock(queue: AddressQueue | undefined): void {
    if (queue === undefined || queue.line === this.#ready) return;
    this.#blocked.remove(queue);
    this.#ready.push(queue);
  }

  /** True: nobody of the address waits any more. */
  #dropIfEmpty(address: string): boolean {
    if (this.#waiting.countOf(address) > 0) return false;
    const queue = this.#queues.get(address);
    queue?.line?.remove(queue);
    this.#queues.delete(address);
    return true;
  }
}

/** Handshakes at once from one address; Infinity: no such bound, as behind a balancer whose address all connections have. */
function addressHandshakesMax(
  settings: Pick<SleepSettings, 'behind_balancer' | 'proxy_protocol' | 'handshakes_per_address_max'>,
): number {
  const sharesAddress = settings.behind_balancer && !settings.proxy_protocol;
  return sharesAddress || settings.handshakes_per_address_max === 0
    ? Infinity
    : settings.handshakes_per_address_max;
}
