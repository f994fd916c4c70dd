/**
 * Answers a query for a device's connections, in the same turn if possible. It waits while the device's record is not committed,
 * because an answer must survive a crash, and for the observations of other members. Source: API doc, Endpoint 1; decisions.md,
 * Connectivity.
 */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type ConnectivityCode, type Refusal } from '../../model/codes.ts';
import type { ConnectivityRecord } from '../../model/connectivity.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import { connectivityQueryMsMax } from '../../model/limits.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ConnectionRecords } from '../ports/records.ts';
import type { Log } from '../../lib/log.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import { checkDeviceAccess } from './device-access.ts';
import type { Observe } from './observe-device.ts';

export interface ConnectivityDeps extends Pick<CoreDeps, 'clock' | 'registry'> {
  readonly directory: DeviceDirectory;
  readonly sleepRecords: ConnectionRecords;
  readonly signalRecords: ConnectionRecords;
  readonly observe: Observe;
  /** True: the store refuses writes, so a changed record cannot be answered, because answers are committed first. */
  storeRefuses(): boolean;
  readonly log: Pick<Log, 'error'>;
}

export type ConnectivityAnswer = Result<ConnectivityRecord, Refusal<ConnectivityCode>>;

/** A value if available in this turn; else a promise that settles within 2 s and never rejects. */
export function queryConnectivity(
  deps: ConnectivityDeps,
  appId: ApplicationId,
  deviceId: DeviceId,
): ConnectivityAnswer | Promise<ConnectivityAnswer> {
  const answer = answerConnectivity(deps, appId, deviceId);
  return answer instanceof Promise ? answerInTime(deps.clock, answer) : answer;
}

function answerInTime(clock: Clock, answer: Promise<ConnectivityAnswer>): Promise<ConnectivityAnswer> {
  return new Promise((resolve) => {
    const giveUp = clock.after(connectivityQueryMsMax, () => resolve(fail(refusal(50401))));
    const settle = (settled: ConnectivityAnswer): void => {
      giveUp();
      resolve(settled);
    };
    answer.then(settle, () => settle(fail(refusal(50401))));
  });
}

/** Like `queryConnectivity`, with the deadline left to the caller. */
export function answerConnectivity(
  deps: ConnectivityDeps,
  appId: ApplicationId,
  deviceId: DeviceId,
): ConnectivityAnswer | Promise<ConnectivityAnswer> {
  try {
    const denied = checkDeviceAccess(deps.registry, appId, deviceId, wallSeconds(deps.clock));
    if (denied !== null) return fail(refusal(denied));
    const observed = deps.observe(deps, deviceId);
    const committed = bothCommitted(deps, deviceId);
    if (committed !== null && deps.storeRefuses()) {
      // The observation is not used; ignore its failure.
      if (observed instanceof Promise) observed.catch(() => undefined);
      return fail(unkept);
    }
    if (observed instanceof Promise || committed !== null) return answerLater(deps, observed, committed);
    return answerOf(observed);
  } catch (error) {
    return unreadable(deps, error);
  }
}

async function answerLater(
  deps: ConnectivityDeps,
  observed: ReturnType<Observe>,
  committed: Promise<unknown> | null,
): Promise<ConnectivityAnswer> {
  try {
    const [record] = await Promise.all([observed, committed]);
    return answerOf(record);
  } catch (error) {
    return unreadable(deps, error);
  }
}

function answerOf(observed: ConnectivityRecord | null): ConnectivityAnswer {
  return observed === null ? fail(unavailable) : succeed(observed);
}

function unreadable({ log }: ConnectivityDeps, error: unknown): ConnectivityAnswer {
  log.error({ err: error }, 'connectivity: not read: registry or store unreadable; answered 50301');
  return fail(unavailable);
}

const unavailable = refusal(50301, 'connectivity service unavailable');
const unkept = refusal(50301, 'the device has changed, and the store refuses the change');

function bothCommitted(deps: ConnectivityDeps, deviceId: DeviceId): Promise<unknown> | null {
  const sleep = deps.sleepRecords.committed(deviceId);
  const signal = deps.signalRecords.committed(deviceId);
  return sleep === null || signal === null ? (sleep ?? signal) : Promise.all([sleep, signal]);
}
