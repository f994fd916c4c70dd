/**
 * What the platform observed of a device's connections. Answers in the same turn when it can; waits when the
 * device's record is on its way to the store, because what was answered must survive a crash.
 * Source: API doc, Endpoint 1; decisions.md, Connectivity.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import { settlesWithin } from '../base/settles-within.ts';
import { refusal, type ConnectivityCode, type Refusal } from '../domain/codes.ts';
import { neverConnected, type ConnectionTimes, type ConnectivityRecord } from '../domain/connectivity.ts';
import type { ApplicationId, DeviceId } from '../domain/ids.ts';
import { connectivityQueryMsMax } from '../domain/limits.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import type { ConnectionRecords } from '../ports/connection-records.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { checkDeviceAccess } from './check-device-access.ts';

export interface ConnectivityHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: DeviceDirectory;
  readonly sleepRecords: ConnectionRecords;
  readonly signalRecords: ConnectionRecords;
  readonly log: Log;
}

type Answer = Outcome<ConnectivityRecord, Refusal<ConnectivityCode>>;

/** A value when nothing has to be waited for; else a promise that settles within 2 s and never rejects. */
export function queryConnectivity(
  house: ConnectivityHouse,
  appId: ApplicationId,
  deviceId: DeviceId,
): Answer | Promise<Answer> {
  try {
    const denied = checkDeviceAccess(house.registry, appId, deviceId, wallSeconds(house.clock));
    if (denied !== null) return fail(refusal(denied));
    const answer = succeed(observe(house, deviceId));
    const committed = bothCommitted(house, deviceId);
    return committed === null ? answer : answerOnceCommitted(house.clock, committed, answer);
  } catch (error) {
    house.log.error({ err: error }, 'connectivity cannot be read');
    return fail(refusal(50301, 'connectivity service unavailable'));
  }
}

function observe(house: ConnectivityHouse, deviceId: DeviceId): ConnectivityRecord {
  const actor = house.directory.find(deviceId);
  const { sleepRecords, signalRecords } = house;
  const sleep = actor === null ? storedTimes(sleepRecords, deviceId) : actor.sleepTimes();
  const signal = actor === null ? storedTimes(signalRecords, deviceId) : actor.signalTimes();
  const isOnline = actor !== null && actor.signalConnection !== null;
  const { lastLoginAt, lastHeartbeatAt, lastOfflineAt } = signal;
  return { deviceId, signal: { isOnline, lastLoginAt, lastHeartbeatAt, lastOfflineAt }, sleep };
}

function storedTimes(records: ConnectionRecords, deviceId: DeviceId): ConnectionTimes {
  return records.read(deviceId) ?? neverConnected;
}

function bothCommitted(house: ConnectivityHouse, deviceId: DeviceId): Promise<unknown> | null {
  const sleep = house.sleepRecords.committed(deviceId);
  const signal = house.signalRecords.committed(deviceId);
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
