/**
 * Values that members exchange: sessions, slots, heartbeats, wakeups, messages to devices, and the members themselves. Calls are
 * in call-values.ts.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import type {
  DeviceRow,
  DeviceSlots,
  FailedOverSlot,
  MemberStatus,
  SharedConnection,
} from '../../model/cluster.ts';
import { type EventId, type SessionId, type MessageId, type WakeupId } from '../../model/ids.ts';
import { failedOverSlotsMax, sleepSlotsMax, wakeupsShownMax } from '../../model/limits.ts';
import {
  applicationId,
  deviceId,
  digest,
  line,
  memberId,
  signedRequest,
  stamp,
  stampOrNone,
  whole,
  word,
  customData,
  jsonObject,
  requestId,
} from './wire-values.ts';
import {
  codeTexts,
  endpointCodes,
  type Code,
  type FailureCode,
  type Refusal,
  type WakeupCode,
} from '../../model/codes.ts';
import type { MessageReceipt, MessageRefusal, MessageRequest, MessageWakeup } from '../../model/message.ts';
import { wakeCauses } from '../../model/signal.ts';
import {
  type KnownWakeup,
  type RefusedWakeup,
  type RepeatMark,
  type WakeupReceipt,
  type WakeupRecord,
  type WakeupRequest,
  type WakeupsKnown,
  wakeupAliasesMax,
} from '../../model/wakeup.ts';

export const sessionId = word<SessionId>();

const epoch = z.int().min(1);
const markedEvent = { id: word<EventId>(), atMs: stamp };
const slot = z.strictObject({
  member: memberId,
  node: line,
  session: sessionId,
  epoch,
  loginAtMs: stamp,
  recovered: z.strictObject(markedEvent).optional(),
});
const failedOverSlot: z.ZodType<FailedOverSlot> = z.strictObject({ ...markedEvent, slot });

function sharedConnection(slotsMax: number): z.ZodType<SharedConnection> {
  return z.strictObject({
    epoch: whole,
    slots: z.array(slot).max(slotsMax),
    failedOver: z.array(failedOverSlot).max(failedOverSlotsMax).exactOptional(),
    lastLoginAt: stampOrNone,
    lastHeartbeatAt: stampOrNone,
    lastOfflineAt: stampOrNone,
  });
}

export const deviceSlots: z.ZodType<DeviceSlots> = z.strictObject({
  sleep: z.array(slot).max(sleepSlotsMax),
  signal: z.array(slot).max(1),
});

export const deviceRow: z.ZodType<DeviceRow> = z.strictObject({
  sleep: sharedConnection(sleepSlotsMax),
  signal: sharedConnection(1),
});

/** A session of the answering member: Unix seconds of its latest heartbeat, 0: none yet. */
export const sessionHeartbeat = z.strictObject({ session: sessionId, heartbeatAt: stamp });
export type SessionHeartbeat = Readonly<z.output<typeof sessionHeartbeat>>;

export const memberStatus: z.ZodType<MemberStatus> = z.strictObject({
  member: memberId,
  node: line,
  state: z.enum(['up', 'draining', 'lost']),
  version: line,
  startedAtMs: stamp,
  sleepSessions: whole,
  signalSessions: whole,
  outboxLength: whole,
  eventLag: whole,
  leaseAgeMs: z.number().min(0),
});

export const wakeupRequest: z.ZodType<WakeupRequest> = z.strictObject({
  appId: applicationId,
  deviceId,
  customData,
  customDataText: digest.nullable(),
  requestId,
  ...signedRequest,
});

const wakeupReceipt: z.ZodType<WakeupReceipt> = z.strictObject({ deviceId, acceptedAtMs: stamp });

const repeatMark = { repeatOf: requestId.exactOptional() };

export const wakeupAnswer: z.ZodType<Result<WakeupReceipt, Refusal<WakeupCode>> & RepeatMark> =
  z.discriminatedUnion('ok', [
    z.strictObject({ ok: z.literal(true), value: wakeupReceipt, ...repeatMark }),
    z.strictObject({ ok: z.literal(false), error: refusalOf(endpointCodes.wakeup), ...repeatMark }),
  ]);

/** Data by which another member answers a repeat of a wakeup. */
export const acceptedWakeup = z.strictObject({
  ...signedRequest,
  receipt: wakeupReceipt,
  wakeup: z.strictObject({
    requestId,
    id: word<WakeupId>().nullable(),
    aliases: z.array(requestId).max(wakeupAliasesMax),
  }),
});
export type AcceptedWakeup = Readonly<z.output<typeof acceptedWakeup>>;

const wakeupStatus = z.enum(['accepted', 'unknown', 'failed', 'completed', 'expired']);

export const wakeupRecord: z.ZodType<WakeupRecord> = z.strictObject({
  id: word<WakeupId>(),
  deviceId,
  status: wakeupStatus,
  isAwaited: z.boolean(),
  begunAtMs: stamp,
  acceptedAtMs: stampOrNone,
  completedAtMs: stampOrNone,
  wokeAfterMs: whole.nullable(),
  alreadyOnline: z.boolean(),
  cause: z.enum(wakeCauses).nullable(),
  sleepEpoch: whole,
  packet: word<string>().nullable(),
  repeatOf: requestId.exactOptional(),
});

export const knownWakeup: z.ZodType<KnownWakeup> = z.strictObject({
  appId: applicationId,
  requestId,
  record: wakeupRecord,
});

const failureCodes = Object.keys(codeTexts)
  .map((code) => Number(code) as Code)
  .filter((code) => code !== 0);

const refusedWakeup: z.ZodType<RefusedWakeup> = z.strictObject({
  atMs: stamp,
  requestId,
  appId: applicationId.nullable(),
  isProven: z.boolean(),
  deviceId: deviceId.nullable(),
  code: z.literal(failureCodes),
  reason: line,
});

export const wakeupsKnown: z.ZodType<WakeupsKnown> = z.strictObject({
  wakeups: z.array(knownWakeup).max(wakeupsShownMax),
  refused: z.array(refusedWakeup).max(wakeupsShownMax),
});

export const messageRequest: z.ZodType<MessageRequest> = z.strictObject({
  appId: applicationId,
  deviceId,
  name: line,
  payload: jsonObject,
  ...signedRequest,
});

const messageWakeup: z.ZodType<MessageWakeup> = z.strictObject({
  requestId,
  status: wakeupStatus,
  acceptedAtMs: stampOrNone,
  wokeAfterMs: whole.nullable(),
});

export const messageReceipt: z.ZodType<MessageReceipt> = z.strictObject({
  deviceId,
  id: word<MessageId>(),
  acknowledgedAtMs: stamp,
  wakeup: messageWakeup.nullable().exactOptional(),
});

export const messageRefusal: z.ZodType<MessageRefusal> = z.strictObject({
  ...refusalFields(endpointCodes.message),
  wakeup: messageWakeup.exactOptional(),
});
export const callEndRefusal = refusalOf(endpointCodes['call-end']);
export const callRefusal = refusalOf(endpointCodes['call-credentials']);

export function refusalOf<Code extends FailureCode>(codes: readonly Code[]): z.ZodType<Refusal<Code>> {
  return z.strictObject(refusalFields(codes));
}

function refusalFields<Code extends FailureCode>(codes: readonly Code[]) {
  return { code: z.literal(codes), message: line, retryAfterS: z.int().min(1).exactOptional() };
}
