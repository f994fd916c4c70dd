/** Events that contain their number and creation time, so that a receiver can measure their age. */
import type { EventDraft } from '../../src/model/events.ts';
import type { DeviceId, RequestId } from '../../src/model/ids.ts';
import { monotonicMs } from '../harness/latency.ts';
import { deviceIdOf } from './population.ts';

/** Service of a process that creates events at a fixed rate: ours, which appends them, or a peer, which posts them. */
export type EventSourceProtocol = {
  /** Creates events until `rest`, for the devices in turn. */
  write: { take: { devices: number; ratePerSecond: number }; give: null };
  /** Returns the number of events since the process started; a log has committed them. */
  rest: { take: null; give: number };
};

/** Creates an event with the current time, for the devices in turn. */
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
  readonly bornMs: number;
}

const markForm = /"request_id":"bench-(\d+)","custom_data":"([\d.]+)"/;

/** `body`: the JSON text of a webhook. Null: another event. */
export function readMark(body: string): EventMark | null {
  const [, number, bornMs] = markForm.exec(body) ?? [];
  return number === undefined ? null : { number: Number(number), bornMs: Number(bornMs) };
}
