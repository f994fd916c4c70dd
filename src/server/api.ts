/** The REST door and what stands behind it: verification, endpoints, one pipeline. */
import type { Clock } from '../base/clock.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import { Authenticator } from '../http/authenticator.ts';
import { connectivityRoute } from '../http/connectivity-route.ts';
import { Pipeline } from '../http/pipeline.ts';
import { RouteTable } from '../http/route-table.ts';
import { wakeupRoute } from '../http/wakeup-route.ts';
import { WakeupLimits } from '../operations/wakeup-limits.ts';
import { WakeupMemory } from '../operations/wakeup-memory.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { SignatureVerifier } from '../ports/signature-verifier.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { SigningKeyCache } from '../tgv1/signing-key.ts';
import { HmacPool } from '../workers/hmac-pool.ts';
import { InlineVerifier } from '../workers/inline-verifier.ts';
import type { Records } from './records.ts';
import { verifierThreads, wakeupLimitSettings } from './room-settings.ts';
import type { Settings } from './settings-schema.ts';

export interface ApiHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: RegistryReader;
  readonly signingKeys: SigningKeyCache;
  readonly directory: DeviceDirectory;
  readonly records: Records;
  readonly telemetry: Telemetry;
  isDraining(): boolean;
}

export interface Api {
  readonly pipeline: Pipeline;
  close(): Promise<void>;
}

export async function composeApi(settings: Settings, house: ApiHouse): Promise<Api> {
  const verifier = await startVerifier(settings, house.log);
  const { clock_window_s: windowS, explain_mismatch: explainMismatch } = settings.auth;
  const authenticator = new Authenticator(
    { ...house, verifier },
    { windowMs: windowS * 1000, explainMismatch },
  );
  const { clock, records } = house;
  const routes = new RouteTable([
    connectivityRoute({ ...house, sleepRecords: records.sleep }),
    wakeupRoute({
      ...house,
      memory: new WakeupMemory(records.wakeups, clock, settings.wakeup.replay_max),
      limits: new WakeupLimits(clock, wakeupLimitSettings(settings)),
    }),
  ]);
  return { pipeline: new Pipeline({ ...house, routes, authenticator }), close: () => verifier.close() };
}

async function startVerifier(settings: Settings, log: Log): Promise<SignatureVerifier> {
  const { verification, batches_max: batches, batch_jobs_max: batchJobsMax } = settings.auth;
  if (verification === 'inline') return new InlineVerifier();
  const onFault = (error: unknown): void => log.error({ err: error }, 'a verification thread failed');
  return HmacPool.start({ threads: verifierThreads(settings), batches, batchJobsMax, onFault });
}
