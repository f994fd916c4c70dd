/** Calls as members exchange them: orders, live calls and ends. Source: cluster.md, Media. */
import { z } from 'zod';
import {
  callEndReasons,
  liveCallStates,
  orderedEndReasons,
  rejectionReasons,
  type CallEnd,
  type CallEndOrder,
  type CallRejection,
  type SignedCallOrder,
} from '../../model/call.ts';
import { callMediaShape, callRoomShape } from '../../model/call-shape.ts';
import type { DeviceCalls, SharedCall } from '../../model/cluster.ts';
import type { EventId } from '../../model/ids.ts';
import { callingTimeoutSecondsMax, callsPerDeviceMax, lostCallsMax } from '../../model/limits.ts';
import { sessionId } from './member-values.ts';
import { applicationId, deviceId, memberId, signedRequest, stamp, word } from './wire-values.ts';

export const callOrder: z.ZodType<SignedCallOrder> = z.strictObject({
  appId: applicationId,
  deviceId,
  room: callRoomShape,
  media: callMediaShape,
  callingTimeoutS: z.int().min(0).max(callingTimeoutSecondsMax),
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

export const sharedCalls: z.ZodType<readonly SharedCall[]> = z
  .array(z.strictObject({ sessionId, state: z.enum(liveCallStates) }))
  .max(callsPerDeviceMax);

const lostCall = z.strictObject({ sessionId, id: word<EventId>(), atMs: stamp });

export const deviceCalls: z.ZodType<DeviceCalls> = z.strictObject({
  node: memberId,
  calls: sharedCalls,
  lost: z.array(lostCall).max(lostCallsMax),
});
