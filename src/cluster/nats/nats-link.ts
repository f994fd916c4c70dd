/**
 * This node's one connection to NATS: it reconnects for ever, notifies when it comes and goes, and makes the streams and
 * buckets that are missing. A node starts and serves without it; what needs it asks `isUnavailable`, or waits for `ready`.
 * A server that does not answer is unavailable within 3 s, also one that only went silent. Source: cluster.md, Without NATS.
 */
import { jetstream, jetstreamManager, type JetStreamClient, type StreamAPI } from '@nats-io/jetstream';
import { errors, type ConnectionOptions, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type Cancel, type Clock, completesWithin } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { messageOf } from '../../lib/result.ts';
import type { Log } from '../../lib/log.ts';
import { NatsNames } from './nats-names.ts';
import { connectionOptions, shownServers, type NatsOptions } from './nats-options.ts';
import { ensureStores } from './nats-stores.ts';

export type NatsLinkOptions = NatsOptions & { readonly clock: Clock; readonly log: Log };

const firstDialMs = 500;
const storesRetryMs = 500;
/** A request to JetStream that is not answered by then has failed. */
const requestMsMax = 2000;
const drainMsMax = 2000;
/** Forbidden subjects logged; refusals of more of them are not. */
const forbiddenSubjectsMax = 64;

export class NatsLink {
  readonly names: NatsNames;
  readonly #options: NatsLinkOptions;
  readonly #clientOptions: ConnectionOptions;
  readonly #refusals: RefusalLog;
  readonly #followers = new Set<(isUnavailable: boolean) => void>();
  readonly #ready = deferred();
  #connection: NatsConnection | null = null;
  #jetstream: JetStreamClient | null = null;
  #isUnavailable = true;
  #isClosing = false;
  #cancelRetry: Cancel = () => undefined;
  #dialing: Promise<void> = Promise.resolve();

  /**
   * Resolves after the first try to connect, whatever came of it. Rejects with a sentence for the operator when the
   * URL, the credentials or the authorities' file cannot be used.
   */
  static open(options: NatsLinkOptions): Promise<NatsLink> {
    return new NatsLink(options).dialed();
  }

  protected constructor(options: NatsLinkOptions) {
    this.names = new NatsNames(options.prefix);
    this.#options = options;
    this.#clientOptions = connectionOptions(options, this.names.inbox);
    this.#refusals = new RefusalLog(options.log);
  }

  protected async dialed(): Promise<this> {
    await this.#dial();
    if (this.isUnavailable)
      this.#options.log.warn(this.#place(), 'NATS cannot be reached: this node starts without it');
    return this;
  }

  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  /** Throws before the first connection: callers have seen `isUnavailable` false once, or waited for `ready`. */
  get connection(): NatsConnection {
    if (this.#connection === null) throw new Error('NATS has not been reached yet');
    return this.#connection;
  }

  /** Throws before the first connection. */
  jetstream(): JetStreamClient {
    return (this.#jetstream ??= jetstream(this.connection, { timeout: requestMsMax }));
  }

  /** Rejects before the first connection. */
  async streams(): Promise<StreamAPI> {
    return (await this.jetstream().jetstreamManager(false)).streams;
  }

  /** Followers are called at every change, in the order they came; a new connection has its subscriptions already. */
  onChange(follower: (isUnavailable: boolean) => void): Cancel {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Resolves when streams and buckets are there. Pending while they cannot be made; never rejects. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Drains what is under way, for 2 s at most. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#cancelRetry();
    await this.#dialing;
    const connection = this.#connection;
    if (connection === null || connection.isClosed()) return;
    if (!this.#isUnavailable) await completesWithin(this.#options.clock, drainMsMax, connection.drain());
    await connection.close();
    abandonSocket(connection);
    this.#isUnavailable = true;
  }

  #dial(): Promise<void> {
    return (this.#dialing = this.#tryToConnect());
  }

  async #tryToConnect(): Promise<void> {
    try {
      this.#connection = await connect(this.#clientOptions);
    } catch (error) {
      this.#refusals.refused('dial', messageOf(error));
      if (!this.#isClosing) this.#retry(firstDialMs, () => void this.#dial());
      return;
    }
    void this.#followStatus(this.#connection);
    this.#notify(false);
  }

  async #followStatus(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'staleConnection') abandonSocket(connection);
      if (status.type === 'staleConnection' || status.type === 'disconnect') this.#notify(true);
      if (status.type === 'reconnect') this.#notify(false);
      if (status.type === 'error') this.#refusals.error(status.error);
    }
  }

  #notify(isUnavailable: boolean): void {
    if (isUnavailable === this.#isUnavailable || this.#isClosing) return;
    this.#isUnavailable = isUnavailable;
    const { log } = this.#options;
    if (isUnavailable) log.warn(this.#place(), 'NATS is away');
    else {
      log.info({ server: this.connection.getServer() }, 'connected to NATS');
      this.#refusals.succeeded('dial', 'other');
      this.#cancelRetry();
      void this.#ensureStores();
    }
    for (const follower of this.#followers) follower(isUnavailable);
  }

  /** Runs at every connection: the NATS that is back may have lost its store. */
  async #ensureStores(): Promise<void> {
    try {
      const manager = await jetstreamManager(this.connection, { checkAPI: false, timeout: requestMsMax });
      await ensureStores(manager, this.names, this.#options, this.#options.log);
      this.#refusals.succeeded('stores');
      this.#ready.resolve();
    } catch (error) {
      if (this.#isUnavailable || this.#isClosing) return;
      this.#refusals.refused('stores', messageOf(error));
      this.#retry(storesRetryMs, () => void this.#ensureStores());
    }
  }

  #retry(delayMs: number, run: () => void): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#options.clock.after(delayMs, run);
  }

  #place(): { servers: string } {
    return { servers: shownServers(this.#options.url) };
  }
}

const refusals = {
  dial: 'NATS cannot be reached, and is tried again',
  stores: 'NATS has not made the streams of the cluster, and is asked again',
  other: 'NATS has refused this node something',
} as const;

/**
 * Logs what NATS refuses, in one sentence each, and once: a line at every retry would hide the rest. No line holds a user,
 * a password or a token.
 */
class RefusalLog {
  readonly #log: Log;
  readonly #subjects = new Set<string>();
  readonly #reasons = new Map<keyof typeof refusals, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  refused(what: keyof typeof refusals, reason: string): void {
    if (reason === this.#reasons.get(what)) return;
    this.#reasons.set(what, reason);
    if (what === 'dial') this.#log.warn({ reason }, refusals[what]);
    else this.#log.error({ reason }, refusals[what]);
  }

  /** It works: the next refusal is logged again. */
  succeeded(...what: (keyof typeof refusals)[]): void {
    for (const each of what) this.#reasons.delete(each);
  }

  error(error: Error): void {
    if (error instanceof errors.PermissionViolationError) this.#forbidden(error);
    else this.refused('other', error.message);
  }

  #forbidden({ operation, subject }: InstanceType<typeof errors.PermissionViolationError>): void {
    const key = `${operation} ${subject}`;
    if (this.#subjects.has(key) || this.#subjects.size >= forbiddenSubjectsMax) return;
    this.#subjects.add(key);
    const forbidden = operation === 'publish' ? 'publish to' : 'subscribe to';
    this.#log.error({ subject }, `the permissions of NATS do not let this node ${forbidden} ${subject}`);
  }
}

interface WithTransport {
  readonly protocol?: { readonly transport?: { discard?(): void } };
}

/**
 * Lets go of a connection's socket at once. The client gives a silent server up only when the last bytes to it have been
 * taken, and a peer that is silent takes none when the socket's buffer is full: it would wait for TCP to give up, a
 * quarter of an hour. The socket's field is not of the client's published interface, so it may change one day; then this
 * does nothing, and a test says so.
 */
function abandonSocket(connection: NatsConnection): void {
  (connection as WithTransport).protocol?.transport?.discard?.();
}
