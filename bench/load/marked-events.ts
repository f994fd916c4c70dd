/** Events that say themselves which they are and when they were born, so that whoever gets one can tell how old it is. */
import type { EventBody, EventDraft } from '../../src/model/events.ts';
import type { DeviceId, RequestId } from '../../src/model/ids.ts';
import { monotonicMs } from './peer-protocol.ts';
import { deviceIdOf } from './population.ts';

export interface EventMark {
  readonly number: number;
  /** On the clock that all processes share. */
  readonly bornMs: number;
}

/** Of number `number`, born now, of one of `devices` devices in turn. */
export function markedEvent(number: number, devices: number): EventDraft {
  return {
    type: 'device.wakeup.accepted',
    deviceId: deviceIdOf(number % devices) as DeviceId,
    atMs: Date.now(),
    epoch: 1,
    data: { request_id: `bench-${number}` as RequestId, custom_data: monotonicMs().toFixed(3) },
  };
}

export function isMarked({ data }: Pick<EventBody, 'data'>, number: number): boolean {
  return 'request_id' in data && data['request_id'] === `bench-${number}`;
}

const markForm = /"request_id":"bench-(\d+)","custom_data":"([\d.]+)"/;

/** Null: not one of these. `body` is the JSON text that a webhook gets. */
export function readMark(body: string): EventMark | null {
  const [, number, bornMs] = markForm.exec(body) ?? [];
  return number === undefined ? null : { number: Number(number), bornMs: Number(bornMs) };
}
