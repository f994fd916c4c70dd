/** The REST API composed: verification, endpoints, one pipeline. */
import type { Rate } from '../../lib/token-bucket.ts';
import { readersMax, readersPerApplicationMax } from '../../model/limits.ts';
import { Authenticator } from '../../gateways/api/authenticator.ts';
import { callCredentialsRoute, callStatusRoute } from '../../gateways/api/call-routes.ts';
import { connectivityRoute, messageRoute } from '../../gateways/api/device-routes.ts';
import { eventsRoute } from '../../gateways/api/events-route.ts';
import { Pipeline } from '../../gateways/api/pipeline.ts';
import type { Route } from '../../gateways/api/route.ts';
import { wakeupOutcomeRoute, wakeupRoute } from '../../gateways/api/wakeup-routes.ts';
import { ApplicationLimit } from '../../core/devices/request-limits.ts';
import { EventWaiters } from '../../core/events/event-waiters.ts';
import { FairEventQueue } from '../../core/events/fair-event-queue.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import type { CallStatusDeps } from '../../core/calls/query-call-status.ts';
import { OutcomeWaiters } from '../../core/wakeups/log-followers.ts';
import { WaitingReaders } from '../../core/events/waiting-readers.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SignatureVerifier } from '../../core/ports/signature-verifier.ts';
import { HmacPool } from '../../gateways/verification/hmac-pool.ts';
import { InlineVerifier } from '../../gateways/verification/inline-verifier.ts';
import type { ServerContext } from './server-context.ts';
import { callRates, verifierThreads, type CallRates } from '../config/gateway-settings.ts';
import type { Settings } from '../config/settings-schema.ts';

/** Who issues calls. `homes` where other members do. */
export type ApiCalls = Pick<CallCredentialsDeps, 'directory' | 'bridges' | 'keys' | 'placement'> &
  Pick<CallStatusDeps, 'keptElsewhere'>;

export interface ApiDeps extends ServerContext {
  readonly calls: ApiCalls;
}

export interface Api {
  readonly pipeline: Pipeline;
  /** For a drain: who waits for an event or an outcome is answered now. */
  endWaits(): void;
  close(): Promise<void>;
}

export async function composeApi(settings: Settings, context: ApiDeps): Promise<Api> {
  const verifier = await startVerifier(settings, context.log);
  const { clock_window_s: windowS, explain_mismatch: explainMismatch } = settings.auth;
  const authenticator = new Authenticator(
    { ...context, verifier },
    { windowMs: windowS * 1000, explainMismatch },
  );
  const limits = { max: readersMax, perApplicationMax: readersPerApplicationMax };
  const outcomeReaders = new WaitingReaders(context.clock, limits);
  const eventReaders = new WaitingReaders(context.clock, limits);
  const routes = composeRoutes(settings, context, { outcomeReaders, eventReaders });
  return {
    pipeline: new Pipeline({ ...context, routes, authenticator, connections: context.connections.api }),
    endWaits() {
      outcomeReaders.wakeAll();
      eventReaders.wakeAll();
    },
    close: () => verifier.close(),
  };
}

interface Readers {
  readonly outcomeReaders: WaitingReaders;
  readonly eventReaders: WaitingReaders;
}

function composeRoutes(
  settings: Settings,
  context: ApiDeps,
  { outcomeReaders, eventReaders }: Readers,
): Route[] {
  const { registry, records, messages, calls } = context;
  const { wakeups: wakeupRecords, calls: callRecords, events } = records;
  const waiters = context.cluster === null ? null : new OutcomeWaiters(events);
  const reading = {
    ...context,
    events,
    readers: eventReaders,
    queue: new FairEventQueue(),
    waiters: new EventWaiters({ registry, events, log: context.log }),
  };
  const calling = { ...context, ...calls, records: callRecords };
  const { queries, issuances, messages: sendings, eventReads } = applicationLimits(settings, context);
  return [
    { ...connectivityRoute(context), limit: queries },
    // Wakeups have limits of their own, behind their other checks.
    wakeupRoute(context),
    {
      ...wakeupOutcomeRoute({ ...context, wakeupRecords, readers: outcomeReaders, waiters }),
      limit: queries,
    },
    { ...messageRoute({ ...context, memory: messages }), limit: sendings },
    { ...eventsRoute(reading), limit: eventReads },
    { ...callStatusRoute(calling), limit: queries },
    {
      ...callCredentialsRoute({ ...calling, requireBridge: settings.calls.require_bridge }),
      limit: issuances,
    },
  ];
}

type ApplicationLimits = Readonly<Record<keyof CallRates, ApplicationLimit | null>>;

function applicationLimits(settings: Settings, { clock, sharers }: ApiDeps): ApplicationLimits {
  const rates = callRates(settings);
  const limit = (rate: Rate | null): ApplicationLimit | null =>
    rate === null ? null : new ApplicationLimit(clock, rate, sharers);
  return {
    queries: limit(rates.queries),
    issuances: limit(rates.issuances),
    messages: limit(rates.messages),
    eventReads: limit(rates.eventReads),
  };
}

async function startVerifier(settings: Settings, log: Log): Promise<SignatureVerifier> {
  const { verification, batches_max: batches, batch_jobs_max: batchJobsMax } = settings.auth;
  if (verification === 'inline') return new InlineVerifier();
  const onFault = (error: unknown): void => log.error({ err: error }, 'a verification thread failed');
  return HmacPool.start({ threads: verifierThreads(settings), batches, batchJobsMax, onFault });
}
