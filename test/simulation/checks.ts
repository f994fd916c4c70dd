/** Checks of the invariants at rest and after the stop. Their numbers are those of docs/simulation.md. */
import { connectionKinds } from '../../src/model/cluster.ts';
import type { DeviceId, EventId, ProductId, RequestId, SessionId } from '../../src/model/ids.ts';
import type { EventBody } from '../../src/model/events.ts';
import { decodeDeviceCalls, decodeDeviceRow } from '../../src/protocol/cluster/stored-values.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';
import { SharedReplay } from '../support/shared-log-check.ts';
import type { Backend } from './backend.ts';
import type { Device } from './device.ts';
import type { SessionFact } from './evidence.ts';
import { checkRegistry, checkRegistryEvents } from './registry-checks.ts';
import { checkWebhooks } from './webhook-checks.ts';
import { app } from './names.ts';
import type { Life, Site } from './site.ts';
import { Host } from './timeline.ts';

export type FinalEvent = EventBody & {
  readonly id: EventId;
  readonly deviceId: DeviceId;
  readonly seq: number;
  readonly sequence: number;
  /** Null: the device is not in the registry. */
  readonly productId: ProductId | null;
};

const sleepSlotsMax = 3;

/** Checks each write of a shared row for too many holders, from now on. */
export function checkRows({ nats, evidence }: Site): void {
  nats.buckets.rows.followers.add(({ value, isRemoved }) => {
    const decoded = isRemoved ? null : decodeDeviceRow(value);
    if (decoded === null || !decoded.ok) return;
    evidence.count('holders');
    const { deviceId, row } = decoded.value;
    const nodes = new Set(row.sleep.slots.map(({ node }) => node));
    if (row.signal.slots.length > 1)
      evidence.violated(5, `${deviceId} has two holders of its signal session`);
    if (row.sleep.slots.length > sleepSlotsMax || nodes.size < row.sleep.slots.length)
      evidence.violated(5, `${deviceId} has ${row.sleep.slots.length} sleep sessions at ${nodes.size} nodes`);
  });
}

/** Records in the trace which node owns calls, from now on. */
export function recordCalls({ nats, evidence }: Site): void {
  nats.buckets.calls.followers.add(({ value, isRemoved }) => {
    const decoded = isRemoved ? null : decodeDeviceCalls(value);
    if (decoded?.ok !== true) return;
    const { deviceId, calls: row } = decoded.value;
    const namesOf = (calls: readonly { readonly sessionId: SessionId }[]): string =>
      calls.map(({ sessionId }) => evidence.name('c', sessionId)).join(', ') || 'none';
    const [node] = row.node.split('/');
    evidence.record(
      `${node} has the calls of ${deviceId}: ${namesOf(row.calls)}; lost: ${namesOf(row.lost)}`,
    );
  });
}

/** Checks a site without faults after the convergence time. */
export async function checkAtRest(site: Site, devices: readonly Device[], backend: Backend): Promise<void> {
  const { evidence, registry, timeline } = site;
  checkEdges(site);
  for (const device of devices) checkHolders(site, device);
  checkRegistry(site);
  const asked = site.serving().flatMap((place) =>
    devices.map(async ({ deviceId, controller }) => {
      const answer = await place.life?.member.query(app, deviceId);
      const isOnline = answer?.ok === true ? answer.value.signal.isOnline : String(answer?.error.code);
      const expected = registry.isGone(deviceId) ? '40403' : controller.isOnline;
      evidence.count('queries');
      if (isOnline !== expected)
        evidence.violated(
          4,
          `at rest ${place.name} reports ${isOnline} for ${deviceId} instead of ${expected}`,
        );
    }),
  );
  await timeline.pass(3000);
  await Promise.all(asked);
  await checkWakeable(site, devices, backend);
  backend.stopReading();
  await timeline.pass(5000);
  for (const place of site.serving()) {
    let isDone = false;
    void backend.readAll(place).then(() => (isDone = true));
    await timeline.pass(3000);
    if (!isDone) evidence.violated(10, `the log cannot be read at ${place.name}`);
  }
}

/** Checks that all edges are linked, and that the core has exactly their sessions. */
function checkEdges({ evidence, edges, places }: Site): void {
  const held = edges.map(({ life }) => life?.end.sessionCount ?? 0);
  const gates = places.flatMap(({ life }) => life?.member.gateway.gate ?? []);
  for (const { sessionCount } of gates) {
    const count = held.reduce((sum, sessions) => sum + sessions, 0);
    if (sessionCount !== count)
      evidence.violated(14, `the core has ${sessionCount} sleep sessions, and its edges hold ${count}`);
  }
}

/** Checks that the recorded owner of each session is the process that the device is connected to. */
function checkHolders({ evidence, registry }: Site, { deviceId, controller, modules }: Device): void {
  evidence.count('holders');
  const held = {
    signal: evidence.living('signal', deviceId).length,
    sleep: evidence.living('sleep', deviceId).length,
  };
  const expected = {
    signal: controller.isOnline ? 1 : 0,
    sleep: modules.filter(({ isAsleep }) => isAsleep).length,
  };
  const isGone = registry.isGone(deviceId);
  if (controller.stays && !controller.isOnline && !isGone) evidence.violated(10, `${deviceId} cannot log in`);
  if (expected.sleep === 0 && !isGone) evidence.violated(10, `${deviceId} cannot sleep anywhere`);
  if (isGone && held.sleep + held.signal > 0)
    evidence.violated(11, `${deviceId} is not in service, but has a session`);
  for (const kind of connectionKinds)
    if (held[kind] !== expected[kind])
      evidence.violated(5, `${deviceId} has ${held[kind]} ${kind} sessions, and is in ${expected[kind]}`);
}

/** Checks that every process can wake every sleeping device. */
async function checkWakeable(site: Site, devices: readonly Device[], backend: Backend): Promise<void> {
  const { evidence, registry, timeline } = site;
  const inService = devices.filter(({ deviceId }) => !registry.isGone(deviceId));
  for (const place of site.serving()) {
    const before = evidence.answers;
    for (const { deviceId } of devices) backend.wake(place, deviceId, false);
    await timeline.pass(4000);
    if (evidence.answers < before + inService.length)
      evidence.violated(10, `at rest a device cannot be woken by ${place.name}`);
  }
}

export function checkStopped(site: Site, lives: readonly Life[]): void {
  const { evidence } = site;
  for (const { life } of site.edges)
    if (life !== null && life.clock.pendingTimers > 0)
      evidence.violated(8, `${life.name} has stopped with ${life.clock.pendingTimers} timers left`);
  for (const { name, clock, store, nats, member } of lives) {
    evidence.count('timers');
    const left = {
      timers: clock.pendingTimers,
      commits: store.openCommits(),
      'requests to NATS': nats?.open ?? 0,
      'subjects of NATS': nats?.subscribed ?? 0,
      'buckets and streams of NATS': nats?.followed ?? 0,
      devices: member.context.directory.size,
      legs: member.media.legs.size,
      'live calls': member.calls.directory.size,
      'rows of the outbox': store.state.outbox.items.getStats() as { entryCount?: number },
    };
    for (const [what, found] of Object.entries(left)) {
      const count = typeof found === 'number' ? found : (found.entryCount ?? 0);
      if (count > 0) evidence.violated(8, `${name} has stopped with ${count} ${what} left: ${clock.where()}`);
    }
  }
}

/** Checks the final log against all recorded responses and events. */
export function checkLog(site: Site): void {
  const events = finalLog(site);
  checkOrder(site, events);
  checkTold(site, events);
  checkSessions(site, events);
  checkTimeouts(site, events);
  checkWakeups(site, events);
  checkCalls(site, events);
  checkRegistryEvents(site, events);
  checkWebhooks(site, events);
}

function finalLog({ topology, nats, places, timeline }: Site): FinalEvent[] {
  if (topology === 'nodes')
    return nats.events.stored.map(({ sequence, event: { id, seq, draft, productId } }) => ({
      ...draft,
      id,
      seq,
      sequence,
      productId,
    }));
  const [first] = places;
  if (first === undefined) return [];
  const { state } = first.disk.open(timeline, new Host('reader'));
  return new StoredEvents(state).read(0, 1_000_000);
}

function checkOrder({ evidence, topology, places, timeline }: Site, events: readonly FinalEvent[]): void {
  const seqs = new Map<DeviceId, number>();
  const ids = new Set<EventId>();
  for (const [at, { id, deviceId, seq, sequence, type }] of events.entries()) {
    if (sequence !== at + 1) evidence.violated(1, `the ${at + 1}th event has the sequence ${sequence}`);
    const due = (seqs.get(deviceId) ?? 0) + 1;
    if (seq !== due) evidence.violated(1, `${type} of ${deviceId} has the seq ${seq}, where ${due} was due`);
    if (ids.has(id)) evidence.violated(1, `an event of ${deviceId} is in the log twice`);
    seqs.set(deviceId, seq);
    ids.add(id);
  }
  if (topology !== 'nodes') return;
  for (const { name, disk } of places) {
    const mirrored = new StoredEvents(disk.open(timeline, new Host('reader')).state).read(0, 1_000_000);
    const differs = mirrored.findIndex(({ id, seq }, at) => id !== events[at]?.id || seq !== events[at].seq);
    if (differs !== -1) evidence.violated(1, `${name} has another event ${differs + 1} than the stream`);
  }
}

function checkTold(site: Site, events: readonly FinalEvent[]): void {
  const { evidence } = site;
  const byId = new Map(events.map((event) => [event.id, event]));
  for (const { id, deviceId, seq, sequence, type } of evidence.read.values()) {
    const found = byId.get(id);
    if (found === undefined || found.seq !== seq || found.sequence !== sequence)
      evidence.violated(2, `${type} ${seq} of ${deviceId} was read, but is not in the log`);
  }
  const missed = events.find(({ id, productId }) => productId !== null && !evidence.read.has(id));
  const last = Math.max(0, ...Array.from(evidence.read.values(), ({ sequence }) => sequence));
  if (missed !== undefined && missed.sequence < last)
    evidence.violated(1, `the reader missed ${missed.type} ${missed.seq} of ${missed.deviceId}`);
  const logged = new Set(events.flatMap(({ data }) => ('session' in data ? [data.session] : [])));
  for (const fact of evidence.sessions.values()) {
    const { session, welcomedMs, isProvisional, deviceId } = fact;
    const mayBeMissing = isProvisional || mayBeUnpublished(site, fact);
    if (welcomedMs !== null && !mayBeMissing && !logged.has(session))
      evidence.violated(
        2,
        `${deviceId} was welcomed as ${evidence.name('s', session)}, which is not in the log`,
      );
  }
}

/** Maximum milliseconds from a commit to its publication in NATS, while NATS is reachable. */
const outboxMs = 15_000;

/** True: the login's event may be still in the outbox of a node that ended or was cut off, so that a later login elsewhere precedes it. */
function mayBeUnpublished({ weather }: Site, { holder, welcomedMs }: SessionFact): boolean {
  const { host, place, nats } = holder;
  const ends = [...place.cutsMs, ...(host.endedMs === null ? [] : [host.endedMs])];
  const isSoon = (endMs: number): boolean =>
    welcomedMs !== null && endMs >= welcomedMs && endMs - welcomedMs < outboxMs;
  return nats !== null && (weather.lossShare > 0 || ends.some(isSoon));
}

/** Milliseconds after a pause in which a process may have missed heartbeats. */
const missedMs = 60_000;

/** Checks that a session ended as a timeout only after a broken connection or a pause of its process. */
function checkTimeouts({ evidence }: Site, events: readonly FinalEvent[]): void {
  for (const { deviceId, data } of events) {
    if (!('reason' in data && 'session' in data) || data.reason !== 'heartbeat_timeout') continue;
    const fact = evidence.sessions.get(data.session);
    if (fact === undefined) continue;
    const { wire, holder } = fact;
    const hasSlept = holder.place.troublesMs.some(
      (atMs) => atMs <= wire.closedMs && wire.closedMs - atMs < missedMs,
    );
    evidence.count('timeouts');
    if (!wire.isSilent && !hasSlept)
      evidence.violated(
        3,
        `${evidence.name('s', fact.session)} of ${deviceId} timed out despite its heartbeats`,
      );
  }
}

/** L: login, R: recovered session, E: end, N: end as lost. */
function checkSessions({ evidence, devices, topology, nats }: Site, events: readonly FinalEvent[]): void {
  const words = new Map<SessionId, string>();
  for (const { type, data } of events) {
    if (!type.startsWith('device.s') || !('session' in data)) continue;
    const isLogin = 'replaced' in data;
    const word = isLogin ? ('recovered' in data ? 'R' : 'L') : data.reason === 'node_lost' ? 'N' : 'E';
    words.set(data.session, (words.get(data.session) ?? '') + word);
  }
  for (const [session, history] of words)
    if (!/^L?(?:N?R)*[NE]?$/.test(history))
      evidence.violated(3, `the log has the history ${history} of ${evidence.name('s', session)}`);
  if (topology !== 'nodes') {
    const replay = new SharedReplay();
    const fault = replay.faultOf(events as never);
    if (fault !== null) evidence.violated(3, fault);
    for (const deviceId of devices)
      for (const kind of connectionKinds)
        if (replay.chairOf(kind, deviceId).session !== null)
          evidence.violated(3, `${deviceId} has a ${kind} session that nobody ends`);
    return;
  }
  for (const { value } of nats.buckets.rows.entries.values()) {
    const decoded = decodeDeviceRow(value);
    if (!decoded.ok) continue;
    for (const kind of connectionKinds)
      if (decoded.value.row[kind].slots.length > 0)
        evidence.violated(3, `${decoded.value.deviceId} has a ${kind} session that nobody ends`);
  }
}

/** Milliseconds in which a crash may lose an accepted wakeup, not counting pauses. */
const forgottenMs = 30_000;
/** Milliseconds after which every wakeup has its outcome, also after a takeover by another process. */
const settledMs = 120_000;
const outcomeTypes: ReadonlySet<string> = new Set([
  'device.wakeup.completed',
  'device.wakeup.failed',
  'device.wakeup.expired',
]);

function checkWakeups({ evidence, timeline }: Site, events: readonly FinalEvent[]): void {
  const accepted = new Map<RequestId, number>();
  const outcomes = new Map<RequestId, number>();
  for (const { type, data } of events) {
    if (!('request_id' in data)) continue;
    const counted = type === 'device.wakeup.accepted' ? accepted : outcomeTypes.has(type) ? outcomes : null;
    counted?.set(data.request_id, (counted.get(data.request_id) ?? 0) + 1);
  }
  for (const { requestId, sent, acceptedMs, lives } of evidence.wakeups.values()) {
    const isForgotten = Array.from(lives).some(({ host }) => diedSoon(host, acceptedMs));
    const times = accepted.get(requestId) ?? 0;
    if (times > sent || (times === 0 && lives.size > 0 && !isForgotten))
      evidence.violated(2, `${requestId} was answered 202, but the log has ${times} acceptances of it`);
    const settled = outcomes.get(requestId) ?? 0;
    const isDue = timeline.nowMs - acceptedMs > settledMs;
    // A wakeup with 50402 or without a response may also complete.
    if (settled > sent || (isDue && settled < times))
      evidence.violated(7, `${requestId} was accepted ${times} times, but has ${settled} outcomes`);
    if (settled > 0) evidence.count('settled wakeups');
  }
}

function diedSoon({ diedMs }: Host, acceptedMs: number): boolean {
  return diedMs !== null && diedMs - acceptedMs < forgottenMs;
}

function checkCalls({ evidence }: Site, events: readonly FinalEvent[]): void {
  const states = new Map<SessionId, string[]>();
  for (const { type, data } of events)
    if (type.startsWith('call.') && 'session' in data)
      states.set(data.session, [...(states.get(data.session) ?? []), type]);
  for (const session of evidence.calls.keys()) {
    const history = states.get(session) ?? [];
    const ends = history.filter((type) => type === 'call.ended').length;
    const isEnded = ends === 1 && history.at(-1) === 'call.ended';
    evidence.count('calls');
    if (!isEnded)
      evidence.violated(
        7,
        `the log has for ${evidence.name('c', session)}: ${history.join(', ') || 'nothing'}`,
      );
  }
  for (const [session, history] of states)
    if (!evidence.calls.has(session) && history.filter((type) => type === 'call.ended').length !== 1)
      evidence.violated(7, `the log has for ${evidence.name('c', session)}: ${history.join(', ')}`);
}
