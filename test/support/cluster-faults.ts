/** Checks the event log of a cluster, which has to be complete whatever failed. */
import assert from 'node:assert/strict';
import type { ApiClient } from './api-client.ts';
import type { PublishedEvent } from './event-log-check.ts';
import { EventReader } from './event-reader.ts';

export function named(events: readonly PublishedEvent[], type: string, deviceId: string): PublishedEvent[] {
  return events.filter((event) => event.type === type && event.device_id === deviceId);
}

/** Asserts that each device's sequence numbers start at 1 and have no gap and no repeat, in the order of the log. */
export function checkSeqs(log: readonly PublishedEvent[]): void {
  const seqs = new Map<string, number>();
  for (const { device_id: deviceId, seq } of log) {
    assert.equal(seq, (seqs.get(deviceId) ?? 0) + 1, `seq of ${deviceId}`);
    seqs.set(deviceId, seq);
  }
}

export type LogCheck = (log: readonly PublishedEvent[]) => boolean;

export function has(type: string, deviceId: string, count = 1): LogCheck {
  return (log) => named(log, type, deviceId).length >= count;
}

/** Resolves to the whole log of a node once it has the expected events: a row changes a moment before its event is published. */
export async function logOf(
  { api }: { readonly api: ApiClient },
  ...checks: LogCheck[]
): Promise<PublishedEvent[]> {
  const reader = new EventReader(api);
  const log: PublishedEvent[] = [];
  for (const endMs = performance.now() + 15_000; !checks.every((check) => check(log));) {
    log.push(...(await reader.rest()));
    assert.ok(performance.now() < endMs, `not all is in the log: ${JSON.stringify(log)}`);
  }
  return log;
}
