/** Composes the REST API: verification, endpoints, one pipeline. */
import { pause } from '../../lib/clock.ts';
import { FairQueue } from '../../lib/collections/fair-queue.ts';
import type { Rate } from '../../lib/token-bucket.ts';
import {
  batchesMax,
  batchesPerApplicationMax,
  wakingMessagesMax,
  wakingMessagesPerApplicationMax,
} from '../../model/limits.ts';
import type { ApiServices } from '../../gateways/api/api-services.ts';
import { ApiPort } from '../../gateways/api/api-port.ts';
import { Authenticator } from '../../gateways/api/authenticator.ts';
import { Dispatcher } from '../../gateways/api/dispatcher.ts';
import { Pipeline } from '../../gateways/api/pipeline.ts';
import { apiRoutes } from '../../gateways/api/routes.ts';
import { ApiFronts } from '../../gateways/fronts/api-fronts.ts';
import { DeviceList } from '../../core/devices/list-devices.ts';
import { ApplicationLimit } from '../../core/devices/request-limits.ts';
import { batchQueueShape } from '../../core/devices/query-connectivity-batch.ts';
import { EventWaiters } from '../../core/events/event-waiters.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import { OutcomeWaiters } from '../../core/wakeups/log-followers.ts';
import { scanQueueShape } from '../../core/events/read-events.ts';
import { readerLimits, WaitingReaders } from '../../core/events/waiting-readers.ts';
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { inlineVerifier, LateVerifier } from '../../gateways/verification/late-verifier.ts';
import { provisionHere } from '../membership/member-answers.ts';
import { apiPort, type HoldingApi } from './holding-api.ts';
import type { ServerContext } from './server-context.ts';
import { keptConnectionMs } from '../site/site-limits.ts';
import {
  callRates,
  frontCount,
  issuingSettings,
  parseRules,
  verificationSettings,
  verifierThreads,
} from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';

/** Parts of the call service that the API uses. */
export type ApiCalls = Pick<CallCredentialsDeps, 'directory' | 'bridges' | 'keys'>;

export interface ApiDeps extends ServerContext {
  readonly calls: ApiCalls;
  /** A port that listens already; null: `listen` opens one. */
  readonly holding: HoldingApi | null;
}

/** The API's listener, and the pipeline behind it. */
export class Api {
  readonly #port: ApiPort | ApiFronts;
  readonly #context: ApiDeps;
  readonly #dispatcher: Dispatcher;
  readonly #verifier: SignatureVerifier;
  /** True: each answer ends its connection. */
  readonly #isDraining: () => boolean;
  readonly #readers: Readers;
  isLeaving = false;

  /** Throws when the TLS files are invalid. */
  constructor(context: ApiDeps) {
    const { settings, clock, log, connections } = context;
    this.#isDraining = () => this.isLeaving || context.isDraining();
    const limits = readerLimits(settings.api.connections_max);
    const readers = {
      outcomes: new WaitingReaders(clock, limits),
      events: new WaitingReaders(clock, limits),
      wakings: new WaitingReaders(clock, {
        max: wakingMessagesMax,
        perApplicationMax: wakingMessagesPerApplicationMax,
      }),
    };
    this.#context = context;
    this.#port = context.holding?.port ?? apiPort(settings, connections, clock, log);
    this.#dispatcher = new Dispatcher({ ...context, services: composeServices(context, readers) });
    this.#verifier = hasVerifierThreads(settings) ? new LateVerifier() : inlineVerifier;
    this.#readers = readers;
  }

  /** Resolves with the bound address. Rejects when it cannot be bound, or another server has it. */
  async listen(): Promise<string> {
    if (this.#port.address === null) await this.#port.listen();
    this.#serve();
    return this.#port.address ?? '';
  }

  /** Starts the threads that verify signatures; until they run, this one does. */
  beginThreads(): void {
    const { settings, log } = this.#context;
    const onFault = (error: unknown): void => log.error({ err: error }, 'verification thread: failed');
    if (!(this.#verifier instanceof LateVerifier)) return;
    this.#verifier.begin(async () => {
      const { HmacPool } = await import('../../gateways/verification/hmac-pool.ts');
      return HmacPool.start({ threads: verifierThreads(settings), onFault });
    }, onFault);
  }

  /** Throws or rejects, and changes nothing, when the certificate files are invalid. */
  reloadTls(): void | Promise<void> {
    return this.#port.reloadTls();
  }

  /** For a drain: answers pending long polls for events, outcomes and devices now. */
  endWaits(): void {
    for (const readers of Object.values(this.#readers)) readers.wakeAll();
    void this.#announceDraining();
  }

  /**
   * Makes each answer end its connection. Resolves when all are closed, or after the library has closed the idle ones, so that none is
   * closed while a request is in flight. False: `stay` was called.
   */
  async leave(): Promise<boolean> {
    this.isLeaving = true;
    await this.#announceDraining();
    await this.#emptied(keptConnectionMs, () => this.isLeaving);
    return this.isLeaving;
  }

  stay(): void {
    this.isLeaving = false;
    void this.#announceDraining();
  }

  /**
   * Stops accepting. Resolves when every accepted request is answered; long polls are answered at once. An accepted connection has
   * `graceMs` for a request in flight.
   */
  async finish(graceMs = 0): Promise<void> {
    await this.#port.stopListening();
    await this.#emptied(graceMs);
    // New long polls may arrive on open connections.
    const stop = this.#context.clock.every(endWaitsMs, () => this.endWaits());
    await this.#port.idle().finally(stop);
  }

  #serve(): void {
    const port = this.#port;
    if (port instanceof ApiPort) return port.serve(this.#frontEnd().handle);
    const { clock, own, readiness, registry, telemetry } = this.#context;
    own.fronts = port;
    readiness.include(() => port.missing);
    registry.onCredentials(async (changed) => {
      const startedMs = clock.monotonicMs();
      await port.credentialsChanged(changed);
      telemetry.frontCredentials((clock.monotonicMs() - startedMs) / 1000);
    });
    port.serve({
      dispatcher: this.#dispatcher,
      allCredentials: () => registry.allCredentials(),
      findCredential: (accessKeyId) => registry.findCredential(accessKeyId),
    });
  }

  #frontEnd(): Pipeline {
    const { settings, connections } = this.#context;
    const checks = { ...this.#context, verifier: this.#verifier };
    return new Pipeline({
      ...this.#context,
      routes: apiRoutes,
      rules: parseRules(settings),
      authenticator: new Authenticator(checks, verificationSettings(settings)),
      dispatcher: this.#dispatcher,
      connections: connections.api,
      isDraining: this.#isDraining,
    });
  }

  async #announceDraining(): Promise<void> {
    if (this.#port instanceof ApiFronts) await this.#port.drain(this.#isDraining());
  }

  async #emptied(msMax: number, isWanted = (): boolean => true): Promise<void> {
    for (let waitedMs = 0; waitedMs < msMax && this.#count > 0 && isWanted(); waitedMs += lookMs)
      await pause(this.#context.clock, lookMs);
  }

  get #count(): number {
    return this.#port instanceof ApiFronts ? this.#port.count : this.#context.connections.api.count;
  }

  /** Closes every connection, with or without an answer. */
  async close(): Promise<void> {
    await this.#port.close();
    await this.#verifier.close();
  }
}

const endWaitsMs = 50;
const lookMs = 10;

type Readers = Readonly<Record<'outcomes' | 'events' | 'wakings', WaitingReaders>>;

function composeServices(context: ApiDeps, readers: Readers): ApiServices {
  const { settings, clock, registry, records, messages } = context;
  const { directory, bridges, keys } = context.calls;
  const { wakeups: wakeupRecords, calls: callRecords, events } = records;
  const batches = new WaitingReaders(clock, { max: batchesMax, perApplicationMax: batchesPerApplicationMax });
  const waiters = new OutcomeWaiters(events);
  const outcomes = { ...context, wakeupRecords, waiters, readers: readers.outcomes };
  return {
    limits: applicationLimits(context),
    connectivity: context,
    batches: { ...context, batches, queue: new FairQueue(batchQueueShape) },
    wakeups: context,
    answeredWakeups: context.answeredWakeups,
    outcomes,
    messages: {
      ...context,
      memory: messages,
      wakeups: context,
      outcomes,
      waiting: readers.wakings,
      wakings: context.wakings,
    },
    events: {
      ...context,
      events,
      readers: readers.events,
      queue: new FairQueue(scanQueueShape),
      waiters: new EventWaiters({ registry, events, log: context.log }),
    },
    calls: { ...context, directory, bridges, keys, records: callRecords, ...issuingSettings(settings) },
    mixedFormats: settings.calls.mixed_formats,
    callEnds: context.callEnds,
    devices: new DeviceList(context),
    provision: (request) => provisionHere(context, request),
  };
}

function applicationLimits({ settings, clock, sharers }: ApiDeps): ApiServices['limits'] {
  const rates = callRates(settings);
  const limit = (rate: Rate | null): ApplicationLimit | null =>
    rate === null ? null : new ApplicationLimit(clock, rate, sharers);
  return {
    queries: limit(rates.queries),
    issuances: limit(rates.issuances),
    // The same rate as for beginning calls.
    callEnds: limit(rates.issuances),
    messages: limit(rates.messages),
    eventReads: limit(rates.eventReads),
    provisionings: limit(rates.provisionings),
  };
}

/** With fronts, each verifies its own requests. */
function hasVerifierThreads(settings: Settings): boolean {
  return settings.auth.verification === 'pool' && frontCount(settings) === 0;
}
