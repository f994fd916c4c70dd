/** Calls as they cross between members: what is asked of them, what they are, and how they ended. Source: cluster.md, Media. */
import { z } from 'zod';
import {
  callEndReasons,
  liveCallStates,
  orderedEndReasons,
  rejectionReasons,
  type CallEnd,
  type CallEndOrder,
  type CallRejection,
  type CallSession,
  type SignedCallOrder,
} from '../../model/call.ts';
import { callMediaShape, callRoomShape } from '../../model/call-shape.ts';
import type { TokenId } from '../../model/ids.ts';
import { callingTimeoutSecondsMax, callsPerDeviceMax, connectedTokensMax } from '../../model/limits.ts';
import { sessionId } from './member-values.ts';
import { applicationId, deviceId, signedRequest, stamp, stampOrNone, word } from './wire-values.ts';

const order = {
  appId: applicationId,
  deviceId,
  room: callRoomShape,
  media: callMediaShape,
  callingTimeoutS: z.int().min(0).max(callingTimeoutSecondsMax),
};

export const callOrder: z.ZodType<SignedCallOrder> = z.strictObject({
  ...order,
  ...signedRequest,
});

export const callEndOrder: z.ZodType<CallEndOrder> = z.strictObject({
  appId: applicationId,
  deviceId,
  call: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('session'), sessionId }),
    z.strictObject({ kind: z.literal('room'), roomId: callRoomShape.shape.roomId }),
  ]),
  reason: z.enum(orderedEndReasons),
  ...signedRequest,
});

export const callEnd: z.ZodType<CallEnd> = z.strictObject({
  deviceId,
  sessionId,
  reason: z.enum(callEndReasons),
  endedAtMs: stamp,
});

export const callRejection: z.ZodType<CallRejection> = z.strictObject({
  sessionId,
  reason: z.enum(rejectionReasons),
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
