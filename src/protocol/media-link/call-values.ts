/** What is said of calls and their legs on the link: the shapes of the domain's values, checked when they are read. */
import { z } from 'zod';
import { callEndReasons, callStates, videoRotations } from '../../model/call.ts';
import { callMediaShape, callRoomShape, callSizeShape } from '../../model/call-shape.ts';
import type { BridgeId, DeviceId, SessionId, TokenId } from '../../model/ids.ts';

/** Of ids and whatever else is short. */
const wordCharactersMax = 1024;

function word<Branded extends string>() {
  return z
    .string()
    .max(wordCharactersMax)
    .transform((text) => text as Branded);
}

export const sessionId = word<SessionId>();

const videoRequest = callSizeShape.extend({
  rotation: z.literal(videoRotations),
  maxFps: z.int().min(1),
});

export const legMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('assign'), sessionId, media: callMediaShape }),
  z.strictObject({
    kind: z.literal('start'),
    sessionId,
    room: callRoomShape,
    request: videoRequest.nullable(),
    media: callMediaShape,
  }),
  z.strictObject({
    kind: z.literal('state'),
    sessionId,
    state: z.enum(callStates),
    reason: z.enum(callEndReasons).nullable(),
  }),
]);

export const callReport = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('progress'), state: z.enum(['ringing', 'attempting', 'connected']) }),
  z.strictObject({ kind: z.literal('end'), reason: z.enum(callEndReasons) }),
]);

const deviceAdmission = z.strictObject({
  sessionId,
  deviceId: word<DeviceId>(),
  tokenId: word<TokenId>(),
  media: callMediaShape,
});

const bridgeAdmission = z.strictObject({
  bridgeId: word<BridgeId>(),
  keySha256: z.string().length(64),
  sessionId: sessionId.nullable(),
});

const viewerAdmission = z.strictObject({ sessionId });

/** Who was let in, and to what. */
export const admittedLeg = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('device'), admission: deviceAdmission }),
  z.strictObject({ kind: z.literal('bridge'), admission: bridgeAdmission }),
  z.strictObject({ kind: z.literal('viewer'), admission: viewerAdmission }),
]);
