import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId, RequestId, SessionId } from '../../../../src/model/ids.ts';
import { encodeEvent } from '../../../../src/protocol/rest/event-json.ts';
import { anEvent } from '../../../support/scripted-event-log.ts';

test('an event is written in the order of the contract, with milliseconds and a numeric offset', () => {
  assert.equal(
    encodeEvent(anEvent(7)),
    '{"id":"event-7","type":"device.wakeup.expired","at":"2026-11-20T08:30:00.123+00:00",' +
      '"device_id":"TESTDEVICE01","seq":7,"epoch":4,"data":{"request_id":"ring-7"}}',
  );
});

test('neither the place in the log nor the product is told', () => {
  assert.deepEqual(Object.keys(JSON.parse(encodeEvent(anEvent(7))) as object), [
    'id',
    'type',
    'at',
    'device_id',
    'seq',
    'epoch',
    'data',
  ]);
});

test('an event of no connection has a null epoch, and names that need it are escaped', () => {
  const event: LoggedEvent = {
    ...anEvent(1),
    type: 'call.state',
    deviceId: 'a"b\\c\u0001é' as DeviceId,
    epoch: null,
    data: { session: 'room "1"' as SessionId, state: 'ringing', reason: null },
  };
  const read = JSON.parse(encodeEvent(event)) as Record<string, unknown>;
  assert.equal(read['device_id'], event.deviceId);
  assert.equal(read['epoch'], null);
  assert.deepEqual(read['data'], event.data);
});

test('capabilities that the device reported stand in the event as they came', () => {
  const media = { codecs: ['h264', 'mjpeg'], nested: { width: 640.5, on: true, none: null } };
  const event: LoggedEvent = {
    ...anEvent(1),
    type: 'device.signal.online',
    data: { session: 's' as SessionId, node: 'node-1', replaced: true, media },
  };
  const read = JSON.parse(encodeEvent(event)) as { data: unknown };
  assert.deepEqual(read.data, { session: 's', node: 'node-1', replaced: true, media });
});

test('an event is written once, however many read it', () => {
  let written = 0;
  const event: LoggedEvent = {
    ...anEvent(1),
    type: 'device.wakeup.expired',
    data: {
      get request_id() {
        written += 1;
        return 'ring' as RequestId;
      },
    },
  };
  assert.equal(encodeEvent(event), encodeEvent(event));
  assert.equal(written, 1);
});
