/**
 * Answers a query for a device's connections. Alone it answers in the same turn when it can; it waits when the
 * device's record is on its way to the store, because what was answered must survive a crash, and for what other
 * members have observed. Source: API doc, Endpoint 1; decisions.md, Connectivity.
 */
import { wallSeconds, type Clock, settlesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type ConnectivityCode, type Refusal } from '../../model/codes.ts';
import { neverConnected, type ConnectionTimes, type ConnectivityRecord } from '../../model/connectivity.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import { connectivityQueryMsMax } from '../../model/limits.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ConnectionRecords } from '../ports/connection-records.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { checkDeviceAccess } from './device-access.ts';
import type { ClusterDeps } from './locate-device.ts';
import { observeDevice } from './observe-device.ts';

export interface ConnectivityDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly sleepRecords: ConnectionRecords;
  readonly signalRecords: ConnectionRecords;
  readonly log: Log;
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
}

type Answer = Result<ConnectivityRecord, Refusal<ConnectivityCode>>;

/** A value when nothing has to be waited for; else a promise that settles within 2 s and never rejects. */
export function queryConnectivity(
  deps: ConnectivityDeps,
  appId: ApplicationId,
  deviceId: DeviceId,
): Answer | Promise<Answer> {
  try {
    const denied = checkDeviceAccess(deps.registry, appId, deviceId, wallSeconds(deps.clock));
    if (denied !== null) return fail(refusal(denied));
    if (deps.cluster !== null) return observeInTime(deps, deps.cluster, deviceId);
    const answer = succeed(observe(deps, deviceId));
    const committed = bothCommitted(deps, deviceId);
    return committed === null ? answer : answerOnceCommitted(deps.clock, committed, answer);
  } catch (error) {
    return unreadable(deps, error);
  }
}

function unreadable({ log }: ConnectivityDeps, error: unknown): Answer {
  log.error({ err: error }, 'connectivity cannot be read');
  return fail(unavailable);
}

const unavailable = refusal(50301, 'connectivity service unavailable');

/** With other members: what they know, within the deadline of all of it. */
function observeInTime(deps: ConnectivityDeps, cluster: ClusterDeps, deviceId: DeviceId): Promise<Answer> {
  return new Promise((resolve) => {
    const giveUp = deps.clock.after(connectivityQueryMsMax, () => resolve(fail(refusal(50401))));
    const settle = (answer: Answer): void => {
      giveUp();
      resolve(answer);
    };
    observeTogether(deps, cluster, deviceId).then(
      (record) => settle(record === null ? fail(unavailable) : succeed(record)),
      (error: unknown) => settle(unreadable(deps, error)),
    );
  });
}

async function observeTogether(
  deps: ConnectivityDeps,
  cluster: ClusterDeps,
  deviceId: DeviceId,
): Promise<ConnectivityRecord | null> {
  const committed = bothCommitted(deps, deviceId);
  if (committed !== null) await committed;
  return observeDevice(cluster, deviceId, () => {
    const actor = deps.directory.find(deviceId);
    const sessions = { sleep: actor?.session('sleep') ?? null, signal: actor?.session('signal') ?? null };
    return { sessions, record: observe(deps, deviceId) };
  });
}

function observe(deps: ConnectivityDeps, deviceId: DeviceId): ConnectivityRecord {
  const actor = deps.directory.find(deviceId);
  const { sleepRecords, signalRecords } = deps;
  const sleep = actor === null ? storedTimes(sleepRecords, deviceId) : actor.times('sleep');
  const signal = actor === null ? storedTimes(signalRecords, deviceId) : actor.times('signal');
  const isOnline = actor !== null && actor.connection('signal') !== null;
  const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = signal;
  return { deviceId, signal: { isOnline, lastLoginAt, lastHeartbeatAt, lastOfflineAt }, sleep };
}

function storedTimes(records: ConnectionRecords, deviceId: DeviceId): ConnectionTimes {
  return records.read(deviceId) ?? neverConnected;
}

function bothCommitted(deps: ConnectivityDeps, deviceId: DeviceId): Promise<unknown> | null {
  const sleep = deps.sleepRecords.committed(deviceId);
  const signal = deps.signalRecords.committed(deviceId);
  return sleep === null || signal === null ? (sleep ?? signal) : Promise.all([sleep, signal]);
}

async function answerOnceCommitted(
  clock: Clock,
  committed: Promise<unknown>,
  answer: Answer,
): Promise<Answer> {
  const isCommitted = await settlesWithin(clock, connectivityQueryMsMax, committed);
  return isCommitted ? answer : fail(refusal(50401));
}
