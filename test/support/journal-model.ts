/**
 * Simulates all writes of a server through the journal as plain steps, and models the store after each step. The state after a
 * crash has to equal the state after one of the steps; only a heartbeat may be newer, since it replaces the value before it.
 */
import type { CallSession } from '../../src/model/call.ts';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import { neverConnected, type ConnectionRecord } from '../../src/model/connectivity.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import {
  generateWakeupId,
  type ApplicationId,
  type DeviceId,
  type RequestId,
  type SessionId,
} from '../../src/model/ids.ts';
import { latestOf } from './fakes.ts';
import { acceptedWakeup } from './stored-wakeups.ts';
import type { WakeupRecord } from '../../src/model/wakeup.ts';
import { CallRecordStore } from '../../src/storage/records/call-record-store.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { WakeupRecordStore } from '../../src/storage/records/wakeup-record-store.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { sessionEvent, type SessionTransition } from '../../src/model/state/session-event.ts';
import { endOf, loginOf } from './connection-changes.ts';
import { DrivenClock } from './driven-clock.ts';
import { callOf } from './stored-calls.ts';
import { draftOf, openJournal, type TestJournal, type TestJournalSettings } from './test-journal.ts';

export const stepKinds = ['sleep', 'signal', 'heartbeat', 'wakeup', 'outcome', 'call', 'event'] as const;
export interface Step {
  readonly kind: (typeof stepKinds)[number];
  readonly device: number;
}

export const devices = 4;
const kinds = ['sleep', 'signal'] as const;
const app = 'app' as ApplicationId;

export type JournalEvent = Pick<LoggedEvent, 'deviceId' | 'data'>;

/** The contents of the store in a comparable form, heartbeats apart. */
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
  const batch = (write: () => void): Promise<void> => state.environment.transaction(write);
  return {
    ...parts,
    sleep: new ConnectionRecordStore(state, 'sleep', parts.journal),
    signal: new ConnectionRecordStore(state, 'signal', parts.journal),
    wakeups: new WakeupRecordStore(state, parts.journal, { clock, knownMax: 1_000_000, batch }),
    calls: new CallRecordStore(state, parts.journal),
  };
}

/** The state that the server reads, committed or not, with the events so far. */
export function pictureOf(
  { sleep, signal, wakeups, calls }: ServerContext,
  events: readonly JournalEvent[],
): Picture {
  const records = deviceIds.flatMap((id) => [sleep.read(id), signal.read(id)]);
  const bare = records.map((record) => sorted(record && { ...record, lastHeartbeatAt: null }));
  const known = deviceIds.map((id) => sorted(wakeups.find(latestOf(app, id as string as RequestId))));
  const awaited = wakeups.awaited().map(({ requestId }) => requestId);
  const live = deviceIds.map((id) => calls.read(id).map(sorted));
  const inCall = Array.from(calls.all(), ({ deviceId }) => deviceId);
  const drafts = events.map(({ deviceId, data }) => [deviceId, data]);
  return {
    text: JSON.stringify([bare, known, awaited.sort(), live, inCall.sort(), drafts]),
    heartbeats: records.map((record) => record?.lastHeartbeatAt ?? 0),
  };
}

/** Executes the step in the server. Returns the event that belongs to it, or null. */
export function applyStep(
  context: ServerContext,
  { kind, device }: Step,
  number: number,
): JournalEvent | null {
  const deviceId = idOf(device);
  if (kind === 'sleep' || kind === 'signal') {
    const record = context[kind].read(deviceId) ?? neverConnected;
    const { next, transition } = nextOf(kind, record, number);
    context[kind].write(deviceId, next, transition);
    return sessionEvent(deviceId, transition);
  }
  const draft = kind === 'heartbeat' ? null : draftOf(deviceId, number);
  if (draft === null) recordHeartbeat(context[kinds[number % 2] ?? 'sleep'], deviceId, number);
  else if (kind === 'event') context.events.append(draft);
  else if (kind === 'call') context.calls.write(deviceId, callsAfter(context, deviceId, number), draft);
  else
    context.wakeups.save(
      app,
      deviceId as string as RequestId,
      wakeupAfter(context, deviceId, number, kind === 'wakeup'),
      draft,
    );
  return draft;
}

export function idOf(device: number): DeviceId {
  return `device-${device}` as DeviceId;
}

/** The first fault in the numbers of a log; null: none. */
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

function recordHeartbeat(records: ConnectionRecordStore, deviceId: DeviceId, at: number): void {
  const record = records.read(deviceId);
  if (record !== null && record.openSession !== null)
    records.write(deviceId, { ...record, lastHeartbeatAt: at }, null);
}

/** The next session event: login if offline, logout if online; at `number` Unix seconds. */
function nextOf(
  connection: ConnectionKind,
  record: ConnectionRecord,
  number: number,
): { readonly next: ConnectionRecord; readonly transition: SessionTransition } {
  const atMs = number * 1000;
  const { openSession: session, epoch } = record;
  if (session !== null) {
    const next = { ...record, openSession: null, lastOfflineAt: number };
    return { next, transition: endOf({ connection, session, epoch, atMs }) };
  }
  const openSession = `session-${number}` as SessionId;
  const next = { ...record, epoch: epoch + 1, lastLoginAt: number, openSession };
  const transition = loginOf({ connection, session: openSession, epoch: epoch + 1, atMs });
  return { next, transition };
}

/** One more call, up to two, then none. */
function callsAfter({ calls }: ServerContext, deviceId: DeviceId, number: number): readonly CallSession[] {
  const live = calls.read(deviceId);
  return live.length === 2 ? [] : [...live, { ...callOf(deviceId), createdAtMs: number }];
}

/** A new wakeup under the device's request id, or the outcome of its latest. */
function wakeupAfter(
  { wakeups }: ServerContext,
  deviceId: DeviceId,
  number: number,
  isNew: boolean,
): WakeupRecord {
  const requestId = deviceId as string as RequestId;
  const latest = wakeups.find(latestOf(app, requestId));
  if (!isNew && latest !== null)
    return { ...latest, isAwaited: false, status: 'completed', completedAtMs: number };
  const begunAtMs = new DrivenClock().wallMs() + number;
  return acceptedWakeup({
    id: generateWakeupId(begunAtMs, number),
    deviceId,
    begunAtMs,
    acceptedAtMs: begunAtMs,
    sleepEpoch: number,
  });
}

function sorted(fields: object | null): [string, unknown][] {
  return Object.entries(fields ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
}
