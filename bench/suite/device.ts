/** What a login, a wake and a heartbeat cost inside the house, without sockets and store. */
import type { Bench } from 'tinybench';
import { DeviceDirectory } from '../../src/actor/device-directory.ts';
import { DeadlineWheel, type WheelEntry } from '../../src/base/deadline-wheel.ts';
import { offline, reduceSleep, type SleepEvent } from '../../src/device/sleep-session.ts';
import { neverConnected } from '../../src/domain/connectivity.ts';
import type { DeviceId, SessionId } from '../../src/domain/ids.ts';
import type { SleepConnection } from '../../src/ports/sleep-connection.ts';

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
  wakeMode: 'custom',
  at: 1_795_163_400,
  heartbeatAt: 0,
} as const satisfies SleepEvent;
const wake = { kind: 'wake', carriesCustomData: false } as const satisfies SleepEvent;

export async function register(bench: Bench): Promise<() => Promise<void>> {
  addReducer(bench);
  addMailbox(bench);
  addWheel(bench);
  return async () => undefined;
}

function addReducer(bench: Bench): void {
  const asleep = reduceSleep(offline(neverConnected), login).state;
  bench.add('reducer: a login that takes over', () => {
    reduceSleep(asleep, login);
  });
  bench.add('reducer: a wake', () => {
    reduceSleep(asleep, wake);
  });
}

/** Found in the directory, posted, handled, replied: what a wakeup costs between the limits and the socket. */
function addMailbox(bench: Bench): void {
  const directory = new DeviceDirectory({
    read: () => null,
    write: () => undefined,
    committed: () => null,
    allCommitted: async () => undefined,
  });
  const ids = Array.from({ length: devices }, (_, i) => `DEVICE-${i}` as DeviceId);
  for (const id of ids) directory.claim(id).post({ event: login, connection });
  let next = 0;
  let found: unknown = null;
  const reply = (answer: unknown): void => {
    found = answer;
  };
  bench.add('mailbox: one hop of a wake, among 10 000 devices', () => {
    next = (next + 1) % devices;
    directory.find(ids[next] ?? ('' as DeviceId))?.post({ event: wake, reply });
    if (found !== connection) throw new Error('the wake was not answered');
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
