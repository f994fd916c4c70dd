/** Sessions as they cross between members: their slots, their heartbeats, their calls, and the members themselves. */
import { z } from 'zod';
import { liveCallStates, type CallSession, type SignedCallOrder } from '../../model/call.ts';
import { callMediaShape, callRoomShape } from '../../model/call-shape.ts';
import type {
  DeviceRow,
  DeviceSlots,
  FailedOverSlot,
  MemberStatus,
  SharedConnection,
} from '../../model/cluster.ts';
import type { EventId, SessionId, TokenId } from '../../model/ids.ts';
import {
  failedOverSlotsMax,
  callingTimeoutSecondsMax,
  callsPerDeviceMax,
  connectedTokensMax,
  sleepSlotsMax,
} from '../../model/limits.ts';
import {
  applicationId,
  deviceId,
  digest,
  line,
  memberId,
  stamp,
  stampOrNone,
  whole,
  word,
} from './name-values.ts';

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
const failedOverSlot = z
  .strictObject({ ...markedEvent, seat: slot })
  .transform(({ seat, ...event }): FailedOverSlot => ({ ...event, slot: seat }));

/** Rows outlive releases, so they keep the names of their first one: `seats` for slots, `buried` for those failed over. */
function sharedConnection(slotsMax: number): z.ZodType<SharedConnection> {
  return z
    .strictObject({
      epoch: whole,
      seats: z.array(slot).max(slotsMax),
      buried: z.array(failedOverSlot).max(failedOverSlotsMax).optional(),
      lastLoginAt: stampOrNone,
      lastHeartbeatAt: stampOrNone,
      lastOfflineAt: stampOrNone,
    })
    .transform(({ epoch, seats: slots, buried: failedOver, ...times }) => ({
      epoch,
      slots,
      ...(failedOver !== undefined && { failedOver }),
      ...times,
    }));
}

/** The value that `sharedConnection` reads. */
function plainConnection({ epoch, slots, failedOver, ...times }: SharedConnection): object {
  return {
    epoch,
    seats: slots,
    ...(failedOver !== undefined && {
      buried: failedOver.map(({ slot, ...event }) => ({ ...event, seat: slot })),
    }),
    ...times,
  };
}

export function plainDeviceRow({ sleep, signal }: DeviceRow): object {
  return { sleep: plainConnection(sleep), signal: plainConnection(signal) };
}

export const deviceSlots: z.ZodType<DeviceSlots> = z.strictObject({
  sleep: z.array(slot).max(sleepSlotsMax),
  signal: z.array(slot).max(1),
});

export const deviceRow: z.ZodType<DeviceRow> = z.strictObject({
  sleep: sharedConnection(sleepSlotsMax),
  signal: sharedConnection(1),
});

export const sessionHeartbeat = z.strictObject({ session: sessionId, heartbeatAt: stamp });

export const memberStatus: z.ZodType<MemberStatus> = z.strictObject({
  member: memberId,
  node: line,
  process: whole,
  state: z.enum(['up', 'draining', 'lost']),
  version: line,
  startedAtMs: stamp,
  sleepSessions: whole,
  signalSessions: whole,
  outboxLength: whole,
  eventLag: whole,
  leaseAgeMs: z.number().min(0),
});

const order = {
  appId: applicationId,
  deviceId,
  room: callRoomShape,
  media: callMediaShape,
  callingTimeoutS: z.int().min(0).max(callingTimeoutSecondsMax),
};

export const callOrder: z.ZodType<SignedCallOrder> = z.strictObject({
  ...order,
  signature: digest,
  signatureExpiresMs: stamp,
});

const callSession: z.ZodType<CallSession> = z.strictObject({
  ...order,
  sessionId,
  state: z.enum(liveCallStates),
  createdAtMs: stamp,
  expiresAtMs: stamp,
  ringsFromMs: stampOrNone,
  hasSeenDevice: z.boolean(),
  hasSeenBridge: z.boolean(),
  connectedTokens: z.array(word<TokenId>()).max(connectedTokensMax),
});

/** Live ones of one device. */
export const callSessions = z.array(callSession).max(callsPerDeviceMax);
