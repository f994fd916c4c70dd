/** The REST door and what stands behind it: verification, endpoints, one pipeline. */
import type { Clock } from '../base/clock.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import type { WakeupWatch } from '../actor/wakeup-watch.ts';
import { readersMax, readersPerApplicationMax } from '../domain/limits.ts';
import { Authenticator } from '../http/authenticator.ts';
import { callCredentialsRoute } from '../http/call-credentials-route.ts';
import { callStatusRoute } from '../http/call-status-route.ts';
import { connectivityRoute } from '../http/connectivity-route.ts';
import { eventsRoute } from '../http/events-route.ts';
import { messageRoute } from '../http/message-route.ts';
import { Pipeline } from '../http/pipeline.ts';
import type { Route } from '../http/route.ts';
import { RouteTable } from '../http/route-table.ts';
import { wakeupOutcomeRoute } from '../http/wakeup-outcome-route.ts';
import { wakeupRoute } from '../http/wakeup-route.ts';
import { EventArrivals } from '../operations/event-arrivals.ts';
import { EventTurns } from '../operations/event-turns.ts';
import { MessageMemory } from '../operations/message-memory.ts';
import { WaitingReaders } from '../operations/waiting-readers.ts';
import { WakeupLimits } from '../operations/wakeup-limits.ts';
import { WakeupMemory } from '../operations/wakeup-memory.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SignatureVerifier } from '../ports/signature-verifier.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { SigningKeyCache } from '../tgv1/signing-key.ts';
import { HmacPool } from '../workers/hmac-pool.ts';
import { InlineVerifier } from '../workers/inline-verifier.ts';
import type { CallService } from './call-service.ts';
import type { Records } from './records.ts';
import { verifierThreads, wakeupLimitSettings } from './room-settings.ts';
import type { Settings } from './settings-schema.ts';

export interface ApiHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: RegistryReader;
  readonly signingKeys: SigningKeyCache;
  readonly directory: DeviceDirectory;
  readonly watch: WakeupWatch;
  readonly records: Records;
  readonly telemetry: Telemetry;
  readonly calls: Pick<CallService, 'directory' | 'bridges' | 'keys'>;
  isDraining(): boolean;
}

export interface Api {
  readonly pipeline: Pipeline;
  /** For a drain: who waits for an event or an outcome is answered now. */
  endWaits(): void;
  close(): Promise<void>;
}

export async function composeApi(settings: Settings, house: ApiHouse): Promise<Api> {
  const verifier = await startVerifier(settings, house.log);
  const { clock_window_s: windowS, explain_mismatch: explainMismatch } = settings.auth;
  const authenticator = new Authenticator(
    { ...house, verifier },
    { windowMs: windowS * 1000, explainMismatch },
  );
  const limits = { max: readersMax, perApplicationMax: readersPerApplicationMax };
  const outcomeReaders = new WaitingReaders(house.clock, limits);
  const eventReaders = new WaitingReaders(house.clock, limits);
  const routes = new RouteTable(composeRoutes(settings, house, { outcomeReaders, eventReaders }));
  return {
    pipeline: new Pipeline({ ...house, routes, authenticator }),
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
  house: ApiHouse,
  { outcomeReaders, eventReaders }: Readers,
): Route[] {
  const { clock, registry, records } = house;
  const {
    sleep: sleepRecords,
    signal: signalRecords,
    wakeups: wakeupRecords,
    calls: callRecords,
    events,
  } = records;
  const wakeups = {
    ...house,
    memory: new WakeupMemory(wakeupRecords, clock, settings.wakeup.replay_max),
    limits: new WakeupLimits(clock, wakeupLimitSettings(settings)),
  };
  const reading = {
    ...house,
    events,
    readers: eventReaders,
    turns: new EventTurns(),
    arrivals: new EventArrivals({ registry, events, log: house.log }),
  };
  const { directory: callDirectory, bridges, keys } = house.calls;
  const calling = { ...house, directory: callDirectory, records: callRecords, bridges, keys };
  return [
    connectivityRoute({ ...house, sleepRecords, signalRecords }),
    wakeupRoute(wakeups),
    wakeupOutcomeRoute({ ...house, wakeupRecords, readers: outcomeReaders }),
    messageRoute({ ...house, memory: new MessageMemory(clock) }),
    eventsRoute(reading),
    callStatusRoute(calling),
    callCredentialsRoute({ ...calling, requireBridge: settings.calls.require_bridge }),
  ];
}

async function startVerifier(settings: Settings, log: Log): Promise<SignatureVerifier> {
  const { verification, batches_max: batches, batch_jobs_max: batchJobsMax } = settings.auth;
  if (verification === 'inline') return new InlineVerifier();
  const onFault = (error: unknown): void => log.error({ err: error }, 'a verification thread failed');
  return HmacPool.start({ threads: verifierThreads(settings), batches, batchJobsMax, onFault });
}
