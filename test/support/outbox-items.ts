/** One item of every kind that an outbox may contain. */
import type { MemberId } from '../../src/model/cluster.ts';
import type { EventDraft } from '../../src/model/events.ts';
import { generateEventId, type ApplicationId, type DeviceId, type ProductId } from '../../src/model/ids.ts';
import type { RequestId, SessionId } from '../../src/model/ids.ts';
import type { OutboxEvent, OutboxItem } from '../../src/core/ports/outbox.ts';
import { acceptedWakeup } from './stored-wakeups.ts';
import { draftOf } from './test-journal.ts';

export const outboxMember = 'north/0@1' as MemberId;
const deviceId = '\uFEFFdoor \u{1F6AA}' as DeviceId;
const atMs = 1_800_000_000_000;

const online: EventDraft = {
  type: 'device.signal.online',
  data: {
    session: 'session-1' as SessionId,
    node: 'north',
    replaced: false,
    media: { video: [{ codec: 'h264', sizes: [[320, 240]] }] },
  },
  deviceId,
  atMs,
  epoch: 7,
};

const offline: EventDraft = {
  type: 'device.sleep.offline',
  data: { session: 'session-2' as SessionId, node: 'north', reason: 'reset' },
  deviceId,
  atMs,
  epoch: 8,
};

const record = acceptedWakeup({
  deviceId,
  begunAtMs: atMs,
  acceptedAtMs: atMs + 1,
  cause: 'remote',
  sleepEpoch: 3,
});

export function outboxEventOf(draft: EventDraft): OutboxEvent {
  return { id: generateEventId(draft.atMs, 1), productId: 'doorbell' as ProductId, draft };
}

export function outboxItems(): OutboxItem[] {
  const session = { deviceId, member: outboxMember, node: 'north', heartbeatAt: 1_800_000_000 };
  const wakeup = { appId: 'app' as ApplicationId, requestId: 'ring 1' as RequestId, deviceId };
  return [
    {
      ...session,
      kind: 'login',
      connection: 'signal',
      session: 'session-1' as SessionId,
      event: outboxEventOf(online),
    },
    {
      ...session,
      kind: 'ended',
      connection: 'sleep',
      session: 'session-2' as SessionId,
      event: outboxEventOf(offline),
    },
    { kind: 'event', deviceId, event: { ...outboxEventOf(draftOf(deviceId)), productId: null } },
    { kind: 'wakeup', ...wakeup, record, isFirst: true, event: outboxEventOf(draftOf(deviceId)) },
    { kind: 'wakeup', ...wakeup, record: { ...record, packet: null }, isFirst: false, event: null },
    { kind: 'calls', deviceId, calls: [{ sessionId: 'call-1' as SessionId, state: 'ringing' }], event: null },
    { kind: 'calls', deviceId, calls: [], event: outboxEventOf(draftOf(deviceId)) },
  ];
}
