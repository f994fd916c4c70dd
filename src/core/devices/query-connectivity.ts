/**
 * Answers a query for a device's connections. Alone it answers in the same turn when it can; it waits when the device's
 * record is on its way to the store, because what was answered must survive a crash, and for what other members have
 * observed. Source: API doc, Endpoint 1; decisions.md, Connectivity.
 */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type ConnectivityCode, type Refusal } from '../../model/codes.ts';
import { neverConnected, type ConnectionTimes, type ConnectivityRecord } from '../../model/connectivity.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import { connectivityQueryMsMax } from '../../model/limits.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ConnectionRecords } from '../ports/records.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { checkDeviceAccess } from './device-access.ts';
import type { ClusterDeps } from './locate-device.ts';
import { observeDevice, type LocalView, type SharedView } from './observe-device.ts';
import { SingleQuestions, type OwnerQuestions } from './owner-questions.ts';

/** What this member knows by itself. */
export interface ObservingDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly sleepRecords: ConnectionRecords;
  readonly signalRecords: ConnectionRecords;
  readonly log: Pick<Log, 'error'>;
}

export interface ConnectivityDeps extends ObservingDeps {
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
}

export type ConnectivityAnswer = Result<ConnectivityRecord, Refusal<ConnectivityCode>>;

/** A value when nothing has to be waited for; else a promise that settles within 2 s and never rejects. */
export function queryConnectivity(
  deps: ConnectivityDeps,
  appId: ApplicationId,
  deviceId: DeviceId,
): ConnectivityAnswer | Promise<ConnectivityAnswer> {
  const { cluster, clock } = deps;
  if (cluster !== null) {
    const shared = sharedView(cluster, new SingleQuestions(cluster.peers));
    return answerInTime(clock, async () => answerConnectivity(deps, shared, appId, deviceId));
  }
  const answer = answerConnectivity(deps, null, appId, deviceId);
  return answer instanceof Promise ? answerInTime(clock, () => answer) : answer;
}

export function sharedView({ peers, locator }: ClusterDeps, owners: OwnerQuestions): SharedView {
  return { self: peers.self, locator, owners };
}

/** The deadline is set before anything is asked: a row that is sought for as long is late, not unavailable. */
function answerInTime(clock: Clock, ask: () => Promise<ConnectivityAnswer>): Promise<ConnectivityAnswer> {
  return new Promise((resolve) => {
    const giveUp = clock.after(connectivityQueryMsMax, () => resolve(fail(refusal(50401))));
    const settle = (answer: ConnectivityAnswer): void => {
      giveUp();
      resolve(answer);
    };
    ask().then(settle, () => settle(fail(refusal(50401))));
  });
}

/** The same without the deadline, which is the caller's. `shared` null: alone. */
export function answerConnectivity(
  deps: ObservingDeps,
  shared: SharedView | null,
  appId: ApplicationId,
  deviceId: DeviceId,
): ConnectivityAnswer | Promise<ConnectivityAnswer> {
  try {
    const denied = checkDeviceAccess(deps.registry, appId, deviceId, wallSeconds(deps.clock));
    if (denied !== null) return fail(refusal(denied));
    if (shared !== null)
      return observeTogether(deps, shared, deviceId).catch((error: unknown) => unreadable(deps, error));
    const answer = succeed(observe(deps, deviceId));
    const committed = bothCommitted(deps, deviceId);
    return committed === null ? answer : committed.then(() => answer);
  } catch (error) {
    return unreadable(deps, error);
  }
}

function unreadable({ log }: ObservingDeps, error: unknown): ConnectivityAnswer {
  log.error({ err: error }, 'connectivity cannot be read');
  return fail(unavailable);
}

const unavailable = refusal(50301, 'connectivity service unavailable');

async function observeTogether(
  deps: ObservingDeps,
  shared: SharedView,
  deviceId: DeviceId,
): Promise<ConnectivityAnswer> {
  const committed = bothCommitted(deps, deviceId);
  if (committed !== null) await committed;
  const record = await observeDevice(shared, deviceId, () => lookHere(deps, deviceId));
  return record === null ? fail(unavailable) : succeed(record);
}

function lookHere(deps: ObservingDeps, deviceId: DeviceId): LocalView {
  const actor = deps.directory.find(deviceId);
  const sessions = { sleep: actor?.session('sleep') ?? null, signal: actor?.session('signal') ?? null };
  return { sessions, record: observe(deps, deviceId) };
}

function observe(deps: ObservingDeps, deviceId: DeviceId): ConnectivityRecord {
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

function bothCommitted(deps: ObservingDeps, deviceId: DeviceId): Promise<unknown> | null {
  const sleep = deps.sleepRecords.committed(deviceId);
  const signal = deps.signalRecords.committed(deviceId);
  return sleep === null || signal === null ? (sleep ?? signal) : Promise.all([sleep, signal]);
}
