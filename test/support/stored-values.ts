/** Shared values of members, for the tests of their codecs. */
import type { EventDraft } from '../../src/model/events.ts';
import type { EventId, ProductId, RequestId, SessionId } from '../../src/model/ids.ts';
import {
  type StoredCalls,
  decodeHeartbeats,
  decodeDeviceCalls,
  decodeDeviceRow,
  decodeMemberStatus,
  decodeSharedEvent,
  decodeWakeupRecord,
  encodeHeartbeats,
  encodeDeviceCalls,
  encodeDeviceRow,
  encodeMemberStatus,
  encodeSharedEvent,
  encodeWakeupRecord,
  type DeviceHeartbeat,
  type SharedLogEvent,
  type StoredRow,
} from '../../src/protocol/cluster/stored-values.ts';
import type { KnownWakeup } from '../../src/model/wakeup.ts';
import { neverShared } from '../../src/model/state/shared-connection.ts';
import { testApp, testDevice } from './fakes.ts';
import { memberOne, memberStatus, memberTwo } from './peer-messages.ts';
import { acceptedWakeup } from './stored-wakeups.ts';

const session = '0193f1c2-0000-7000-8000-000000000001' as SessionId;
const request_id = 'request 1' as RequestId;
const node = 'node-1';

export const storedRow: StoredRow = {
  deviceId: testDevice,
  row: {
    sleep: {
      epoch: 7,
      slots: [
        { member: memberOne, node, session, epoch: 6, loginAtMs: 1_763_627_400_123 },
        { member: memberTwo, node: 'node 2/é', session, epoch: 7, loginAtMs: 1_763_627_400_124 },
      ],
      lastLoginAt: 1_763_627_400,
      lastHeartbeatAt: 1_763_627_401,
      lastOfflineAt: null,
    },
    signal: neverShared,
  },
};

const bodies: readonly Pick<EventDraft, 'type' | 'data'>[] = [
  { type: 'device.signal.online', data: { session, node, replaced: true } },
  {
    type: 'device.signal.online',
    data: { session, node, replaced: false, media: { up_video: ['h264', { ä: [[[[[[[[1]]]]]]]] }] } },
  },
  { type: 'device.sleep.login', data: { session, node, replaced: false } },
  { type: 'device.signal.offline', data: { session, node, reason: 'bye' } },
  { type: 'device.sleep.offline', data: { session, node, reason: 'node_lost' } },
  { type: 'device.wakeup.accepted', data: { request_id, custom_data: '0x12aB' } },
  { type: 'device.wakeup.accepted', data: { request_id, custom_data: null } },
  { type: 'device.wakeup.failed', data: { request_id, reason: 'reset' } },
  { type: 'device.wakeup.completed', data: { request_id, woke_after_ms: 0 } },
  { type: 'device.wakeup.expired', data: { request_id } },
  { type: 'call.started', data: { session, state: 'establishing', reason: null } },
  { type: 'call.state', data: { session, state: 'ringing', reason: null } },
  { type: 'call.ended', data: { session, state: 'ended', reason: 'lost' } },
];

export const sharedEvents: readonly SharedLogEvent[] = bodies.map((body, at) => ({
  id: `0193f1c2-0000-7000-8000-00000000000${at.toString(16)}` as EventId,
  seq: at + 1,
  draft: {
    ...body,
    deviceId: testDevice,
    atMs: 1_763_627_400_123,
    epoch: at === 12 ? null : 3,
  } as EventDraft,
  productId: at % 2 === 0 ? ('doorbell' as ProductId) : null,
}));

export const heartbeats: readonly DeviceHeartbeat[] = [
  { deviceId: testDevice, connection: 'sleep', session, heartbeatAt: 1_763_627_400 },
  { deviceId: testDevice, connection: 'signal', session, heartbeatAt: 1_763_627_401 },
];

const knownWakeup: KnownWakeup = {
  appId: testApp,
  requestId: request_id,
  record: acceptedWakeup({
    status: 'completed',
    isAwaited: false,
    completedAtMs: 1_763_627_405_000,
    wokeAfterMs: 4999,
    cause: 'remote',
  }),
};

const deviceCalls: StoredCalls = {
  deviceId: testDevice,
  calls: {
    node: memberOne,
    calls: [{ sessionId: session, state: 'ringing' }],
    lost: [{ sessionId: 'lost' as SessionId, id: 'event' as EventId, atMs: 1_763_627_400_123 }],
  },
};

/** For each kind: a value, its bytes, and its decoder. */
export const storedValues = [
  {
    name: 'a device row',
    value: storedRow,
    bytes: encodeDeviceRow(testDevice, storedRow.row),
    decode: decodeDeviceRow,
  },
  ...sharedEvents.map((event) => ({
    name: `the event ${event.seq}, ${event.draft.type}`,
    value: event,
    bytes: encodeSharedEvent(event),
    decode: decodeSharedEvent,
  })),
  {
    name: 'the status of a member',
    value: memberStatus,
    bytes: encodeMemberStatus(memberStatus),
    decode: decodeMemberStatus,
  },
  { name: 'heartbeats', value: heartbeats, bytes: encodeHeartbeats(heartbeats), decode: decodeHeartbeats },
  { name: 'no heartbeats', value: [], bytes: encodeHeartbeats([]), decode: decodeHeartbeats },
  {
    name: 'a wakeup',
    value: knownWakeup,
    bytes: encodeWakeupRecord(knownWakeup),
    decode: decodeWakeupRecord,
  },
  {
    name: 'the calls of a device',
    value: deviceCalls,
    bytes: encodeDeviceCalls(testDevice, deviceCalls.calls),
    decode: decodeDeviceCalls,
  },
] as const;
