/** Checks received webhooks against the log and the pending deliveries. Invariant 12 of docs/simulation.md. */
import type { FailedEvent, HookRecord, ParkedEvent } from '../../src/core/ports/delivery-store.ts';
import { decodeHookEntry } from '../../src/cluster/records/hook-entry.ts';
import type { DeviceId, EventId } from '../../src/model/ids.ts';
import type { Webhook } from '../../src/model/registry.ts';
import { LmdbDeliveryStore } from '../../src/storage/webhooks/lmdb-delivery-store.ts';
import type { FinalEvent } from './checks.ts';
import type { Site } from './site.ts';
import { Host } from './timeline.ts';
import { hooks } from './names.ts';
import { simulatedLimits, type Attempt } from './webhooks.ts';

interface Kept {
  readonly record: HookRecord;
  readonly failed: ReadonlySet<EventId>;
  readonly parked: ReadonlySet<EventId>;
}

/** `restMs`: time since which no new failure is expected, and earlier events are delivered or parked. */
export function checkWebhooks(site: Site, events: readonly FinalEvent[]): void {
  for (const hook of hooks) {
    const attempts = new Map<EventId, Attempt[]>();
    for (const attempt of site.receivers.attempts)
      if (attempt.url === hook.url)
        attempts.set(attempt.eventId, [...(attempts.get(attempt.eventId) ?? []), attempt]);
    const covered = coveredBy(hook, events, attempts);
    checkDelivered(site, hook, covered, attempts);
    checkDeviceOrder(site, hook, covered, attempts);
  }
}

/** Events from the first attempt on: a hook starts at the head of the log at its creation. */
function coveredBy(
  { types }: Webhook,
  events: readonly FinalEvent[],
  attempts: ReadonlyMap<EventId, unknown>,
): FinalEvent[] {
  const isWanted = ({ type, productId }: FinalEvent): boolean =>
    productId !== null && (types.includes('*') || types.includes(type));
  const first = events.findIndex(({ id }) => attempts.has(id));
  return first === -1 ? [] : events.slice(first).filter(isWanted);
}

function checkDelivered(
  site: Site,
  hook: Webhook,
  covered: readonly FinalEvent[],
  attempts: ReadonlyMap<EventId, readonly Attempt[]>,
): void {
  const { evidence } = site;
  const kept = keptOf(site, hook);
  for (const { id, type, deviceId, seq, sequence } of covered) {
    const made = attempts.get(id) ?? [];
    const what = `${type} ${seq} of ${deviceId}`;
    if (kept?.parked.has(id) === true && made.length <= simulatedLimits.retryDelaysMs.length)
      evidence.violated(12, `${what} is parked after ${made.length} attempts at ${hook.url}`);
    if (made.some(({ isDelivered }) => isDelivered)) evidence.count('delivered events');
    else if (kept === null) evidence.violated(12, `the delivery store has no record of ${hook.url}`);
    else if (!kept.parked.has(id) && !kept.failed.has(id) && sequence <= kept.record.cursor)
      evidence.violated(12, `${what} never reached ${hook.url}, and is not queued`);
    else if (!kept.parked.has(id) && sequence <= evidence.restSequence)
      evidence.violated(12, `${what} has not reached ${hook.url}, which has been healthy for long`);
  }
}

/** An event is attempted only after the earlier ones of its device were delivered or failed twice. */
function checkDeviceOrder(
  { evidence }: Site,
  { url }: Webhook,
  covered: readonly FinalEvent[],
  attempts: ReadonlyMap<EventId, readonly Attempt[]>,
): void {
  const releasedMs = new Map<DeviceId, number>();
  for (const { id, deviceId, type, seq } of covered) {
    const made = attempts.get(id) ?? [];
    const dueMs = releasedMs.get(deviceId) ?? 0;
    const [first] = made;
    if (first !== undefined && first.begunMs < dueMs)
      evidence.violated(12, `${type} ${seq} of ${deviceId} reached ${url} out of order`);
    releasedMs.set(deviceId, Math.max(dueMs, releaseOf(made)));
  }
}

/** An attempt whose sender died counts as failed since its start. */
function releaseOf(made: readonly Attempt[]): number {
  // Two processes may deliver concurrently, if one does not know yet that it lost its lease.
  const deliveredMs = made.filter(({ isDelivered }) => isDelivered).map(({ endedMs }) => endedMs ?? Infinity);
  const delivered = Math.min(...deliveredMs);
  const [, second] = made
    .filter(({ isDelivered }) => !isDelivered)
    .map(({ begunMs, endedMs }) => endedMs ?? begunMs)
    .toSorted((one, other) => one - other);
  return Math.min(delivered, second ?? Infinity);
}

function keptOf(site: Site, { appId, url }: Webhook): Kept | null {
  const id = `${appId}\n${url}`;
  return site.topology === 'nodes' ? keptAtNats(site, id) : keptOnDisk(site, id);
}

function keptOnDisk({ places, timeline }: Site, id: string): Kept | null {
  const [first] = places;
  if (first === undefined) return null;
  const store = new LmdbDeliveryStore(first.disk.openWebhooks(timeline, new Host('reader')));
  const record = store.hooks().get(id);
  if (record === undefined) return null;
  const { number } = record;
  return { record, failed: idsOf(store.failed(number)), parked: idsOf(store.parked(number, 0, Infinity)) };
}

function keptAtNats({ nats }: Site, id: string): Kept | null {
  const entries = Array.from(nats.buckets.hooks.entries.values()).flatMap(({ key, value }) => {
    const decoded = key === 'holder' ? null : decodeHookEntry(value);
    return decoded?.ok === true ? decoded.value : [];
  });
  const hook = entries.find((entry) => entry.kind === 'hook' && entry.id === id);
  if (hook?.kind !== 'hook') return null;
  const { record } = hook;
  const kept = (kind: 'failed' | 'parked'): ReadonlySet<EventId> =>
    idsOf(
      entries.flatMap((entry) =>
        entry.kind === kind && entry.number === record.number ? (entry as { kept: FailedEvent }).kept : [],
      ),
    );
  return { record, failed: kept('failed'), parked: kept('parked') };
}

function idsOf(entries: Iterable<FailedEvent | ParkedEvent>): ReadonlySet<EventId> {
  return new Set(Array.from(entries, ({ event }) => event.id));
}
