/** What a login, a wake and a heartbeat cost inside the server, without sockets and store. */
import type { Bench } from 'tinybench';
import { DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import { DeadlineWheel, type WheelEntry } from '../../src/lib/deadline-wheel.ts';
import { reduceConnection } from '../../src/model/state/connection-session.ts';
import { neverConnected } from '../../src/model/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { ConnectionRecords } from '../../src/core/ports/records.ts';
import type { SleepConnection } from '../../src/core/ports/device-sessions.ts';

const devices = 10_000;
const nothingWritten = Promise.resolve('written' as const);
const connection: SleepConnection = {
  lastHeartbeatAt: 1_795_163_400,
  wake: () => nothingWritten,
  close: () => undefined,
};
const login = {
  kind: 'login',
  sessionId: 'session' as SessionId,
  atMs: 1_795_163_400_000,
  heartbeatAt: 0,
} as const;
const records: ConnectionRecords = {
  read: () => null,
  write: () => undefined,
  committed: () => null,
  allCommitted: async () => undefined,
};

export async function register(bench: Bench): Promise<() => Promise<void>> {
  addReducer(bench);
  addWake(bench);
  addWheel(bench);
  return async () => undefined;
}

function addReducer(bench: Bench): void {
  const asleep = reduceConnection(neverConnected, login).record;
  bench.add('reducer: a login that takes over', () => {
    reduceConnection(asleep, login);
  });
  const session = 'another' as SessionId;
  const late = { kind: 'ended', session, reason: 'reset', atMs: login.atMs, heartbeatAt: 0 } as const;
  bench.add('reducer: the late close of a replaced connection', () => {
    reduceConnection(asleep, late);
  });
}

/** Found in the directory, posted, handled, replied: what a wakeup costs between the limits and the socket. */
function addWake(bench: Bench): void {
  const directory = new DeviceDirectory({ sleepRecords: records, signalRecords: records, node: 'bench' });
  const ids = Array.from({ length: devices }, (_, i) => `DEVICE-${i}` as DeviceId);
  for (const id of ids)
    directory.claim(id).post({ to: 'sleep', event: login, connection, wakeMode: 'custom', secretMark: 0 });
  let next = 0;
  bench.add('actor: the connection of a wake, among 10 000 devices', () => {
    next = (next + 1) % devices;
    const actor = directory.find(ids[next] ?? ('' as DeviceId));
    if (actor?.findWakeable(false) !== connection) throw new Error('the device cannot be woken');
  });
}

class Entry implements WheelEntry {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
}

/** 10 000 sessions that all renew every second: a second of heartbeats and the tick that looks after them. */
function addWheel(bench: Bench): void {
  let nowMs = 0;
  const wheel = new DeadlineWheel<Entry>(500, nowMs, () => {
    throw new Error('a renewed entry expired');
  });
  const entries = Array.from({ length: devices }, () => new Entry());
  const renew = (): void => {
    for (const entry of entries) entry.deadlineMs = nowMs + 150_000;
  };
  renew();
  for (const entry of entries) wheel.add(entry);
  bench.add('wheel: one second of 10 000 renewals and two ticks', () => {
    nowMs += 500;
    wheel.turn(nowMs);
    nowMs += 500;
    renew();
    wheel.turn(nowMs);
  });
}
