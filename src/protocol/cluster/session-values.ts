/** What members say of sessions: where they are, when they were last heard of, what calls there are, and of themselves. */
import { z } from 'zod';
import { liveCallStates, type CallSession, type SignedCallOrder } from '../../model/call.ts';
import { callMediaShape, callRoomShape } from '../../model/call-shape.ts';
import type { DeviceRow, DeviceSeats, MemberStatus, SharedConnection } from '../../model/cluster.ts';
import type { EventId, SessionId, TokenId } from '../../model/ids.ts';
import {
  buriedSeatsMax,
  callingTimeoutSecondsMax,
  callsPerDeviceMax,
  connectedTokensMax,
  sleepSeatsMax,
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
const seat = z.strictObject({
  member: memberId,
  node: line,
  session: sessionId,
  epoch,
  loginAtMs: stamp,
  recovered: z.strictObject(markedEvent).optional(),
});
const buriedSeat = z.strictObject({ ...markedEvent, seat });

function sharedConnection(seatsMax: number): z.ZodType<SharedConnection> {
  return z.strictObject({
    epoch: whole,
    seats: z.array(seat).max(seatsMax),
    buried: z.array(buriedSeat).max(buriedSeatsMax).optional(),
    lastLoginAt: stampOrNone,
    lastHeartbeatAt: stampOrNone,
    lastOfflineAt: stampOrNone,
  });
}

export const deviceSeats: z.ZodType<DeviceSeats> = z.strictObject({
  sleep: z.array(seat).max(sleepSeatsMax),
  signal: z.array(seat).max(1),
});

export const deviceRow: z.ZodType<DeviceRow> = z.strictObject({
  sleep: sharedConnection(sleepSeatsMax),
  signal: sharedConnection(1),
});

export const sessionBeat = z.strictObject({ session: sessionId, heartbeatAt: stamp });

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
