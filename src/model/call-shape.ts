/** Schemas of a call's values, for bytes from another process of the server. */
import { z } from 'zod';
import {
  audioChannelCounts,
  audioRates,
  downlinkAudioFormats,
  downlinkVideoFormats,
  resolutionModes,
  uplinkVideoFormats,
  videoRotations,
} from './call.ts';
import { callPayloadBytesMax, callTextBytesMax, screenSideMax } from './limits.ts';

const side = z.int().min(1).max(screenSideMax);
export const callSizeShape = z.strictObject({ width: side, height: side });

export const callMediaShape = z.strictObject({
  noVideo: z.boolean(),
  upVideo: z.enum(uplinkVideoFormats),
  downVideo: z.enum(downlinkVideoFormats),
  rotation: z.literal(videoRotations),
  screen: callSizeShape.nullable(),
  resolution: z.enum(resolutionModes),
  downAudio: z.enum(downlinkAudioFormats),
  audioRate: z.literal(audioRates),
  audioChannels: z.literal(audioChannelCounts),
});

const roomText = z.string().max(callTextBytesMax);
export const callRoomShape = z.strictObject({
  msgAppId: roomText,
  modelId: roomText,
  roomId: roomText,
  sessionKey: roomText,
  sessionToken: roomText,
  payload: z.string().max(callPayloadBytesMax),
});
