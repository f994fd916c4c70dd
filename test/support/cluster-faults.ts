/** What the log of a cluster has of its devices, whatever failed. */
import assert from 'node:assert/strict';
import type { ApiClient } from './api-client.ts';
import type { ToldEvent } from './event-log-check.ts';
import { EventReader } from './event-reader.ts';

export function named(events: readonly ToldEvent[], type: string, deviceId: string): ToldEvent[] {
  return events.filter((event) => event.type === type && event.device_id === deviceId);
}

/** Of each device from 1, without a gap or a repeat, in the order of the log. */
export function checkSeqs(log: readonly ToldEvent[]): void {
  const seqs = new Map<string, number>();
  for (const { device_id: deviceId, seq } of log) {
    assert.equal(seq, (seqs.get(deviceId) ?? 0) + 1, `seq of ${deviceId}`);
    seqs.set(deviceId, seq);
  }
}

export type LogCheck = (log: readonly ToldEvent[]) => boolean;

export function has(type: string, deviceId: string, count = 1): LogCheck {
  return (log) => named(log, type, deviceId).length >= count;
}

/** The whole log as a node tells it, once it has what is asked for: a row is changed a moment before its event is told. */
export async function logOf(
  { api }: { readonly api: ApiClient },
  ...checks: LogCheck[]
): Promise<ToldEvent[]> {
  const reader = new EventReader(api);
  const log: ToldEvent[] = [];
  for (const endMs = performance.now() + 15_000; !checks.every((check) => check(log));) {
    log.push(...(await reader.rest()));
    assert.ok(performance.now() < endMs, `not all is in the log: ${JSON.stringify(log)}`);
  }
  return log;
}
