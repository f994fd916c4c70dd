/** The record of a wakeup, for tests of stores, codecs and events. */
import type { DeviceId, WakeupId } from '../../src/model/ids.ts';
import type { WakeupRecord } from '../../src/model/wakeup.ts';

/** An accepted wakeup without an outcome; a test sets the fields that it reads. */
export function acceptedWakeup(change: Partial<WakeupRecord> = {}): WakeupRecord {
  return {
    id: '01a2b3c4-0000-7000-8000-000000000009' as WakeupId,
    deviceId: 'TESTDEVICE01' as DeviceId,
    status: 'accepted',
    isAwaited: true,
    begunAtMs: 1_763_627_400_000,
    acceptedAtMs: 1_763_627_400_001,
    completedAtMs: null,
    wokeAfterMs: null,
    alreadyOnline: false,
    cause: null,
    sleepEpoch: 7,
    packet: '983b16f8f39c0000',
    ...change,
  };
}
