/** The REST API composed: verification, endpoints, one pipeline. */
import { quietTurn, type Clock } from '../../lib/clock.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { ListeningApps } from '../../lib/uws.ts';
import type { Rate } from '../../lib/token-bucket.ts';
import { formatListenAddress, type ListenAddress } from '../../lib/connections/listen-address.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';
import {
  batchesMax,
  batchesPerApplicationMax,
  wakingMessagesMax,
  wakingMessagesPerApplicationMax,
} from '../../model/limits.ts';
import type { RelayedAnswer } from '../../gateways/api/api-request.ts';
import type { ApiServices } from '../../gateways/api/api-services.ts';
import { Authenticator } from '../../gateways/api/authenticator.ts';
import type { Provision } from '../../model/provisioning.ts';
import { Pipeline } from '../../gateways/api/pipeline.ts';
import { answerRelayed, RequestRelay, type RelayedRequest } from '../../gateways/api/request-relay.ts';
import { apiRoutes } from '../../gateways/api/routes.ts';
import { DeviceList } from '../../core/devices/list-devices.ts';
import { ApplicationLimit } from '../../core/devices/request-limits.ts';
import { batchQueueShape } from '../../core/devices/query-connectivity-batch.ts';
import { EventWaiters } from '../../core/events/event-waiters.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import { OutcomeWaiters } from '../../core/wakeups/log-followers.ts';
import { scanQueueShape } from '../../core/events/read-events.ts';
import { readerLimits, WaitingReaders } from '../../core/events/waiting-readers.ts';
import type { Log } from '../../lib/log.ts';
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { HmacPool, inlineVerifier } from '../../gateways/verification/hmac-pool.ts';
import type { ServerContext } from './server-context.ts';
import { callRates, issuingSettings, verifierThreads } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';

/** The parts by which a process issues calls. */
export type ApiCalls = Pick<CallCredentialsDeps, 'directory' | 'bridges' | 'keys'>;

export interface ApiDeps extends ServerContext {
  readonly calls: ApiCalls;
  /** Who changes the devices of the registry. */
  readonly provision: Provision;
}

/** What answers callers: its listener, and the pipeline behind it. */
export class Api {
  readonly #clock: Clock;
  readonly #listen: ListenAddress;
  readonly #apps: ListeningApps;
  readonly #pipeline: Pipeline;
  readonly #relay: RequestRelay;
  readonly #verifier: SignatureVerifier;
  readonly #readers: Readers;

  /** Throws when TLS is asked for and its files are not in order. */
  private constructor(context: ApiDeps, verifier: SignatureVerifier, sharesPort: boolean) {
    const { settings, clock, connections } = context;
    const { clock_window_s: windowS, explain_mismatch: explainMismatch } = settings.auth;
    const verification = { windowMs: windowS * 1000, explainMismatch };
    const authenticator = new Authenticator({ ...context, verifier }, verification);
    const limits = readerLimits(settings.api.connections_max);
    const readers = {
      outcomes: new WaitingReaders(clock, limits),
      events: new WaitingReaders(clock, limits),
      wakings: new WaitingReaders(clock, {
        max: wakingMessagesMax,
        perApplicationMax: wakingMessagesPerApplicationMax,
      }),
    };
    const pipeline = new Pipeline({
      ...context,
      routes: apiRoutes,
      services: composeServices(context, readers),
      authenticator,
      connections: connections.api,
    });
    this.#clock = clock;
    this.#listen = settings.api.listen;
    this.#pipeline = pipeline;
    this.#relay = new RequestRelay(clock, pipeline.handle);
    this.#verifier = verifier;
    this.#readers = readers;
    this.#apps = new ListeningApps({ ...this.#listen, tls: tlsFiles(settings.api), sharesPort }, (app) => {
      connections.api.watch(app).any('/*', (response, request) => {
        if (connections.api.reached(response)) this.#relay.handle(response, request);
      });
    });
  }

  /** `sharesPort`: other processes of this server listen on it, too. Rejects when it cannot be put together. */
  static async compose(context: ApiDeps, sharesPort: boolean): Promise<Api> {
    const verifier = await startVerifier(context.settings, context.log);
    try {
      return new Api(context, verifier, sharesPort);
    } catch (error) {
      await verifier.close();
      throw error;
    }
  }

  /** Resolves to the real address. Rejects when it cannot be had, or is another server's. */
  async listen(): Promise<string> {
    await this.#apps.listen();
    return formatListenAddress({ host: this.#listen.host, port: this.#apps.port });
  }

  /** Throws, and changes nothing, when the files of the certificate are not in order. */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /** For a drain: who waits for an event, an outcome or a device is answered now. */
  endWaits(): void {
    this.#readers.outcomes.wakeAll();
    this.#readers.events.wakeAll();
    this.#readers.wakings.wakeAll();
  }

  /** What comes from now on waits for `relayTo`. Resolves when every request that came before is answered. */
  hold(): Promise<void> {
    this.#relay.hold();
    return this.#pipeline.idle();
  }

  /** The process that succeeds this one answers what was held and what still comes on the connections here. */
  get relay(): RequestRelay {
    return this.#relay;
  }

  /**
   * The answer to a request that came to a server before this one; null: its connection is to be closed. Where this one is on its
   * way out, too, that of the process that succeeds it.
   */
  answer(request: RelayedRequest): Promise<RelayedAnswer | null> {
    return answerRelayed(this.#relay.handle, request);
  }

  /**
   * Takes no more connections, and ends none. Those that have come and are not accepted are reset, where the system cannot migrate
   * them to who else listens on the port.
   */
  async stopListening(): Promise<void> {
    await quietTurn(this.#clock);
    this.#apps.stopListening();
  }

  /** Takes no more connections. Resolves when every request that was taken is answered. */
  async finish(): Promise<void> {
    await this.stopListening();
    await this.#pipeline.idle();
  }

  /** Ends every connection, answered or not. */
  close(): Promise<void> {
    this.#apps.close();
    return this.stopVerifying();
  }

  /** Requests of its own are verified no more: all of them are relayed. */
  stopVerifying(): Promise<void> {
    return this.#verifier.close();
  }
}

interface Readers {
  readonly outcomes: WaitingReaders;
  readonly events: WaitingReaders;
  readonly wakings: WaitingReaders;
}

function composeServices(context: ApiDeps, readers: Readers): ApiServices {
  const { settings, clock, registry, records, messages, calls } = context;
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
    calls: { ...context, ...calls, records: callRecords, ...issuingSettings(settings) },
    mixedFormats: settings.calls.mixed_formats,
    callEnds: context.callEnds,
    devices: new DeviceList(context),
    provision: context.provision,
    secretRules: { allowShortSecrets: settings.registry.allow_short_secrets },
  };
}

function applicationLimits({ settings, clock, sharers }: ApiDeps): ApiServices['limits'] {
  const rates = callRates(settings);
  const limit = (rate: Rate | null): ApplicationLimit | null =>
    rate === null ? null : new ApplicationLimit(clock, rate, sharers);
  return {
    queries: limit(rates.queries),
    issuances: limit(rates.issuances),
    // As often as it may begin calls.
    callEnds: limit(rates.issuances),
    messages: limit(rates.messages),
    eventReads: limit(rates.eventReads),
    provisionings: limit(rates.provisionings),
  };
}

async function startVerifier(settings: Settings, log: Log): Promise<SignatureVerifier> {
  if (settings.auth.verification === 'inline') return inlineVerifier;
  const onFault = (error: unknown): void => log.error({ err: error }, 'a verification thread failed');
  return HmacPool.start({ threads: verifierThreads(settings), onFault });
}
