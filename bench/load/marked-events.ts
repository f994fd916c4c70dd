/** Events that carry their number and the moment of their birth, so that a receiver can tell how old each is. */
import type { EventDraft } from '../../src/model/events.ts';
import type { DeviceId, RequestId } from '../../src/model/ids.ts';
import { monotonicMs } from '../harness/latency.ts';
import { deviceIdOf } from './population.ts';

/** The service of a process that makes events at a fixed rate: ours, which appends them, and a peer that posts them. */
export type EventSourceProtocol = {
  /** From now on until `rest`, for so many devices in turn. */
  write: { take: { devices: number; ratePerSecond: number }; give: null };
  /** Gives how many there were since the process began; a log has committed them. */
  rest: { take: null; give: number };
};

/** Born now, of one of `devices` devices in turn. */
export function markedEvent(number: number, devices: number): EventDraft {
  return {
    type: 'device.wakeup.accepted',
    deviceId: deviceIdOf(number % devices) as DeviceId,
    atMs: Date.now(),
    epoch: 1,
    data: { request_id: requestIdOf(number), custom_data: monotonicMs().toFixed(3) },
  };
}

export function requestIdOf(number: number): RequestId {
  return `bench-${number}` as RequestId;
}

interface EventMark {
  readonly number: number;
  /** On the clock that all processes share. */
  readonly bornMs: number;
}

const markForm = /"request_id":"bench-(\d+)","custom_data":"([\d.]+)"/;

/** Null: another event. `body` is the JSON text that a webhook gets. */
export function readMark(body: string): EventMark | null {
  const [, number, bornMs] = markForm.exec(body) ?? [];
  return number === undefined ? null : { number: Number(number), bornMs: Number(bornMs) };
}
