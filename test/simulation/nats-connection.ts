/**
 * A node's connection to NATS: messages arrive in order and late, as over TCP. A cut is noticed after a while, as by the
 * client's pings; messages in flight are then lost, and it is unknown which were executed. After a reconnect, followed streams
 * resume at their position.
 */
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import type { CoreMessage, NatsServer } from './nats-server.ts';
import type { Host, Timeline } from './timeline.ts';

/** Fate of a request that arrives; `unanswered`: executed, but the response is lost. */
export type RequestFate = 'answered' | 'ignored' | 'unanswered';

/** Faults between a node and NATS, random per message. */
export interface WayFaults {
  delayMs(): number;
  requestFate(): RequestFate;
  /** True: a message to a subject is lost. */
  losesMessage(): boolean;
  /** Time until the client notices a cut, until NATS does, and until the client reconnects after the cut. */
  noticedMs(): number;
  droppedMs(): number;
  redialMs(): number;
}

export interface NatsConnectionDeps {
  readonly server: NatsServer;
  readonly timeline: Timeline;
  readonly host: Host;
  readonly faults: WayFaults;
}

/** One direction: ordered messages, each with its own delay. */
class Pipe {
  readonly #timeline: Timeline;
  /** Receiving process; null: NATS. */
  readonly #host: Host | null;
  readonly #delayMs: () => number;
  #lastMs = 0;
  #stalled: (() => void)[] | null = null;
  /** Number of the connection; messages of earlier ones are lost. */
  #life = 0;
  onTheWay = 0;

  constructor(timeline: Timeline, host: Host | null, delayMs: () => number) {
    this.#timeline = timeline;
    this.#host = host;
    this.#delayMs = delayMs;
  }

  send(arrive: () => void): void {
    const life = this.#life;
    this.#lastMs = Math.max(this.#lastMs, this.#timeline.nowMs + this.#delayMs());
    this.onTheWay += 1;
    this.#timeline.after(this.#lastMs - this.#timeline.nowMs, this.#host, () => {
      if (life !== this.#life) return;
      if (this.#stalled !== null) {
        this.#stalled.push(arrive);
        return;
      }
      this.onTheWay -= 1;
      arrive();
    });
  }

  stall(): void {
    this.#stalled ??= [];
  }

  flow(): void {
    const stalled = this.#stalled ?? [];
    this.#stalled = null;
    this.onTheWay -= stalled.length;
    for (const arrive of stalled) arrive();
  }

  lose(): void {
    this.#life += 1;
    this.#stalled = null;
    this.onTheWay = 0;
  }
}

const requestMsMax = 2000;

interface Followed {
  /** Runs at NATS: sends the backlog and follows; returns the cancel function. */
  readonly follow: () => Cancel;
  /** Called when the connection is lost; null: resumed after a reconnect. */
  readonly lost: (() => void) | null;
  stop: Cancel;
}

interface Subscribed {
  readonly pattern: string;
  readonly received: (message: CoreMessage) => void;
  unsubscribe: Cancel;
}

export class NatsConnection {
  readonly #deps: NatsConnectionDeps;
  readonly #up: Pipe;
  readonly #down: Pipe;
  readonly #asked = new Set<(error: Error) => void>();
  readonly #followed = new Set<Followed>();
  readonly #subscribed = new Set<Subscribed>();
  readonly #listeners = new Set<(isUnavailable: boolean) => void>();
  readonly #ready: Promise<void>;
  #resolveReady = (): void => undefined;
  #isCut: boolean;
  #isClosed = false;
  isUnavailable: boolean;
  #cancels: Cancel[] = [];

  constructor(deps: NatsConnectionDeps, isCut: boolean) {
    const { timeline, host, faults } = deps;
    this.#deps = deps;
    this.#up = new Pipe(timeline, null, () => faults.delayMs());
    this.#down = new Pipe(timeline, host, () => faults.delayMs());
    this.#ready = new Promise((resolve) => (this.#resolveReady = resolve));
    this.#isCut = isCut;
    this.isUnavailable = isCut;
    if (!isCut) this.#resolveReady();
  }

  /** Pending requests and messages in flight. */
  get open(): number {
    return this.#asked.size + this.#up.onTheWay + this.#down.onTheWay;
  }

  /** Number of followed buckets and streams. */
  get followed(): number {
    return this.#followed.size;
  }

  /** Number of subscribed subjects. */
  get subscribed(): number {
    return this.#subscribed.size;
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  onChange(listener: (isUnavailable: boolean) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs `act` at NATS. Rejects with SharedStateUnavailable; `act` may have run. */
  request<Value>(act: () => Value): Promise<Value> {
    if (this.isUnavailable) return Promise.reject(new SharedStateUnavailable('NATS is away'));
    const { timeline, host, faults } = this.#deps;
    return new Promise((resolve, reject) => {
      const removeRequest = (): void => {
        giveUp();
        this.#asked.delete(fail);
      };
      const fail = (error: Error): void => {
        removeRequest();
        reject(error);
      };
      const giveUp = timeline.after(requestMsMax, host, () => fail(new SharedStateUnavailable('no answer')));
      this.#asked.add(fail);
      this.#up.send(() => {
        const fate = faults.requestFate();
        if (fate === 'ignored') return;
        const value = act();
        if (fate === 'answered')
          this.#down.send(() => {
            removeRequest();
            resolve(value);
          });
      });
    });
  }

  /** Runs `act`, which starts following. If its response is lost, NATS cancels it by itself. */
  async requestFollowed(act: () => Cancel): Promise<Cancel> {
    let isKnown = false;
    const stop = await this.request(() => {
      const followed = act();
      this.#deps.timeline.after(2 * requestMsMax, null, () => isKnown || followed());
      return followed;
    });
    isKnown = true;
    return stop;
  }

  /** Sends to this node, after all earlier messages of NATS. */
  send(arrive: () => void): void {
    this.#down.send(arrive);
  }

  /** Calls `follow` at NATS, and again after each reconnect; with `lost`, it ends with the connection instead. */
  follow(follow: () => Cancel, lost: (() => void) | null = null): Cancel {
    const followed: Followed = { follow, lost, stop: follow() };
    this.#followed.add(followed);
    return () => {
      this.#followed.delete(followed);
      followed.stop();
    };
  }

  publish(message: CoreMessage): void {
    if (this.isUnavailable) throw new Error('the connection is closed');
    const { server, faults } = this.#deps;
    this.#up.send(() => void (faults.losesMessage() || server.publish(message)));
  }

  subscribe(pattern: string, received: (message: CoreMessage) => void): Cancel {
    const subscribed: Subscribed = { pattern, received, unsubscribe: () => undefined };
    this.#subscribed.add(subscribed);
    this.#up.send(() => this.#subscribeAt(subscribed));
    return () => {
      this.#subscribed.delete(subscribed);
      subscribed.unsubscribe();
    };
  }

  cut(): void {
    if (this.#isCut || this.#isClosed) return;
    const { timeline, host, faults } = this.#deps;
    this.#isCut = true;
    for (const cancel of this.#cancels.splice(0)) cancel();
    // Not reconnected yet.
    if (this.isUnavailable) return;
    this.#up.stall();
    this.#down.stall();
    const dropped = timeline.after(faults.droppedMs(), null, () => this.#unsubscribeAll());
    const noticed = timeline.after(faults.noticedMs(), host, () => this.#lose());
    this.#cancels = [dropped, noticed];
  }

  mend(): void {
    if (!this.#isCut || this.#isClosed) return;
    this.#isCut = false;
    for (const cancel of this.#cancels.splice(0)) cancel();
    if (!this.isUnavailable) {
      // NATS may have dropped the subscription; the client notices now.
      if (Array.from(this.#subscribed).every(({ unsubscribe }) => unsubscribe !== gone)) {
        this.#up.flow();
        this.#down.flow();
        return;
      }
      this.#lose();
    }
    const { timeline, host, faults } = this.#deps;
    this.#cancels = [timeline.after(faults.redialMs(), host, () => this.#reconnect())];
  }

  /** The process died; NATS notices at once. */
  crash(): void {
    this.#isClosed = true;
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#unsubscribeAll();
    this.#stopFollowing();
    this.#up.lose();
    this.#down.lose();
  }

  async close(): Promise<void> {
    this.crash();
    this.isUnavailable = true;
    for (const fail of Array.from(this.#asked)) fail(new SharedStateUnavailable('closed'));
  }

  #lose(): void {
    this.isUnavailable = true;
    this.#up.lose();
    this.#down.lose();
    this.#stopFollowing();
    for (const fail of Array.from(this.#asked)) fail(new SharedStateUnavailable('disconnected'));
    for (const followed of Array.from(this.#followed))
      if (followed.lost !== null) {
        this.#followed.delete(followed);
        followed.lost();
      }
    for (const listener of Array.from(this.#listeners)) listener(true);
  }

  #reconnect(): void {
    this.#unsubscribeAll();
    this.isUnavailable = false;
    this.#resolveReady();
    for (const subscribed of this.#subscribed) this.#up.send(() => this.#subscribeAt(subscribed));
    for (const followed of this.#followed)
      this.#up.send(() => {
        if (this.#followed.has(followed)) followed.stop = followed.follow();
      });
    for (const listener of Array.from(this.#listeners)) listener(false);
  }

  #subscribeAt(subscribed: Subscribed): void {
    if (!this.#subscribed.has(subscribed)) return;
    const { pattern, received } = subscribed;
    const send = (message: CoreMessage): void =>
      this.#down.send(() => this.#subscribed.has(subscribed) && received(message));
    subscribed.unsubscribe = this.#deps.server.subscribe({ pattern, send });
  }

  #unsubscribeAll(): void {
    for (const subscribed of this.#subscribed) {
      subscribed.unsubscribe();
      subscribed.unsubscribe = gone;
    }
  }

  #stopFollowing(): void {
    for (const followed of this.#followed) followed.stop();
  }
}

/** Marks a subscription that NATS has dropped. */
const gone = (): void => undefined;
