/**
 * A server's worth of writing through the journal, as plain steps, and what the store must hold after each of them.
 * What a crash leaves has to be what it held after one of the steps. A heartbeat may be ahead of its step: it takes the
 * place of the value before it.
 */
import type { CallSession } from '../../src/model/call.ts';
import { neverConnected, type ConnectionRecord } from '../../src/model/connectivity.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { WakeupRecord } from '../../src/model/wakeup.ts';
import { CallRecordStore } from '../../src/storage/records/call-record-store.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { WakeupRecordStore } from '../../src/storage/records/wakeup-record-store.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { sessionEvent } from '../../src/model/state/session-event.ts';
import { loginOf } from './connection-changes.ts';
import { DrivenClock } from './driven-clock.ts';
import { callOf } from './stored-calls.ts';
import { draftOf, openJournal, type TestJournal, type TestJournalSettings } from './test-journal.ts';

export const stepKinds = ['sleep', 'signal', 'heartbeat', 'wakeup', 'outcome', 'call', 'event'] as const;
export interface Step {
  readonly kind: (typeof stepKinds)[number];
  /** From 0 to `devices` - 1. */
  readonly device: number;
}

export const devices = 4;
const kinds = ['sleep', 'signal'] as const;
const app = 'app' as ApplicationId;

export type Told = Pick<LoggedEvent, 'deviceId' | 'data'>;

/** All that the store says, in a form that can be compared; heartbeats are apart. */
export interface Picture {
  readonly text: string;
  readonly heartbeats: readonly number[];
}

export interface ServerContext extends TestJournal {
  readonly sleep: ConnectionRecordStore;
  readonly signal: ConnectionRecordStore;
  readonly wakeups: WakeupRecordStore;
  readonly calls: CallRecordStore;
}

export function openContext(
  { state }: Pick<Store, 'state'>,
  settings: TestJournalSettings = {},
): ServerContext {
  const { clock = new DrivenClock() } = settings;
  const parts = openJournal({ state }, { ...settings, clock });
  const batch = (write: () => void): Promise<void> => state.environment.batch(write);
  return {
    ...parts,
    sleep: new ConnectionRecordStore(state, 'sleep', parts.journal),
    signal: new ConnectionRecordStore(state, 'signal', parts.journal),
    wakeups: new WakeupRecordStore(state, parts.journal, { clock, knownMax: 1_000_000, batch }),
    calls: new CallRecordStore(state, parts.journal),
  };
}

/** What this server reads, committed or not, with the events that happened. */
export function pictureOf(
  { sleep, signal, wakeups, calls }: ServerContext,
  events: readonly Told[],
): Picture {
  const records = deviceIds.flatMap((id) => [sleep.read(id), signal.read(id)]);
  const bare = records.map((record) => sorted(record && { ...record, lastHeartbeatAt: null }));
  const known = deviceIds.map((id) => sorted(wakeups.find(app, id as string as RequestId)));
  const awaited = wakeups.awaited().map(({ requestId }) => requestId);
  const live = deviceIds.map((id) => calls.read(id).map(sorted));
  const inCall = Array.from(calls.all(), ({ deviceId }) => deviceId);
  const told = events.map(({ deviceId, data }) => [deviceId, data]);
  return {
    text: JSON.stringify([bare, known, awaited.sort(), live, inCall.sort(), told]),
    heartbeats: records.map((record) => record?.lastHeartbeatAt ?? 0),
  };
}

/** Takes the step in the server. Returns the event that goes with it, or null. */
export function take(context: ServerContext, { kind, device }: Step, number: number): Told | null {
  const deviceId = idOf(device);
  if (kind === 'sleep' || kind === 'signal') {
    const record = context[kind].read(deviceId) ?? neverConnected;
    const login = loginOf({ connection: kind, session: `session-${number}` as SessionId });
    context[kind].write(deviceId, nextOf(record, number), login);
    return sessionEvent(deviceId, login);
  }
  const draft = kind === 'heartbeat' ? null : draftOf(deviceId, number);
  if (draft === null) noteHeartbeat(context[kinds[number % 2] ?? 'sleep'], deviceId, number);
  else if (kind === 'event') context.events.append(draft);
  else if (kind === 'call') context.calls.write(deviceId, callsAfter(context, deviceId, number), draft);
  else
    context.wakeups.save(
      app,
      deviceId as string as RequestId,
      wakeupOf(deviceId, number, kind === 'wakeup'),
      draft,
    );
  return draft;
}

export function idOf(device: number): DeviceId {
  return `device-${device}` as DeviceId;
}

/** What is wrong with the numbers of a log; null: nothing is. */
export function faultOf(events: readonly LoggedEvent[]): string | null {
  const seqs = new Map<DeviceId, number>();
  for (const [i, { sequence, deviceId, seq, id }] of events.entries()) {
    if (sequence !== i + 1) return `event ${i + 1} has the sequence ${sequence}`;
    if (seq !== (seqs.get(deviceId) ?? 0) + 1) return `event ${sequence} has the seq ${seq}`;
    if (id <= (events[i - 1]?.id ?? '')) return `event ${sequence} has an id that is not after the last`;
    seqs.set(deviceId, seq);
  }
  return null;
}

const deviceIds = Array.from({ length: devices }, (_, i) => idOf(i));

function noteHeartbeat(records: ConnectionRecordStore, deviceId: DeviceId, at: number): void {
  records.write(deviceId, { ...(records.read(deviceId) ?? neverConnected), lastHeartbeatAt: at }, null);
}

/** Logs in when it is out, and out when it is in. */
function nextOf(record: ConnectionRecord, number: number): ConnectionRecord {
  if (record.openSession !== null) return { ...record, openSession: null, lastOfflineAt: number };
  const openSession = `session-${number}` as SessionId;
  return { ...record, epoch: record.epoch + 1, lastLoginAt: number, openSession };
}

/** One more call, up to two, and then none. */
function callsAfter({ calls }: ServerContext, deviceId: DeviceId, number: number): readonly CallSession[] {
  const live = calls.read(deviceId);
  return live.length === 2 ? [] : [...live, { ...callOf(deviceId), createdAtMs: number }];
}

function wakeupOf(deviceId: DeviceId, number: number, isAwaited: boolean): WakeupRecord {
  const begunAtMs = new DrivenClock().wallMs() + (isAwaited ? number : 0);
  return {
    deviceId,
    status: isAwaited ? 'accepted' : 'completed',
    isAwaited,
    begunAtMs,
    acceptedAtMs: begunAtMs,
    completedAtMs: isAwaited ? null : number,
    wokeAfterMs: null,
    alreadyOnline: false,
    cause: null,
    sleepEpoch: number,
    isCallersId: true,
    bodySha256: '0f'.repeat(32),
    watcher: null,
  };
}

function sorted(fields: object | null): [string, unknown][] {
  return Object.entries(fields ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
}
