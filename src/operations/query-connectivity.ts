/**
 * What the platform observed of a device's connections. Answers in the same turn when it can; waits when the
 * device's record is on its way to the store, because what was answered must survive a crash.
 * Source: API doc, Endpoint 1; decisions.md, Connectivity.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import { fail, succeed, type Outcome } from '../base/outcome.ts';
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
    const committed = house.sleepRecords.committed(deviceId);
    return committed === null ? answer : answerOnceCommitted(house.clock, committed, answer);
  } catch (error) {
    house.log.error({ err: error }, 'connectivity cannot be read');
    return fail(refusal(50301, 'connectivity service unavailable'));
  }
}

function observe(house: ConnectivityHouse, deviceId: DeviceId): ConnectivityRecord {
  const actor = house.directory.find(deviceId);
  const sleep = actor === null ? storedTimes(house.sleepRecords, deviceId) : actor.sleepTimes();
  return { deviceId, signal: signalNeverObserved, sleep };
}

function storedTimes(records: ConnectionRecords, deviceId: DeviceId): ConnectionTimes {
  return records.read(deviceId) ?? neverConnected;
}

/** There is no signaling listener yet, so no controller has ever been observed. */
const signalNeverObserved = { ...neverConnected, isOnline: false };

function answerOnceCommitted(clock: Clock, committed: Promise<void>, answer: Answer): Promise<Answer> {
  return new Promise((resolve) => {
    const giveUp = clock.after(connectivityQueryMsMax, () => resolve(fail(refusal(50401))));
    void committed.then(() => {
      giveUp();
      resolve(answer);
    });
  });
}
