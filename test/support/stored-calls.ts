/** Call sessions for the tests of stores. */
import type { CallSession } from '../../src/model/call.ts';
import type { EventDraft } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId, SessionId, TokenId } from '../../src/model/ids.ts';
import { audioOnlyMedia } from './call-scene.ts';

export const videoCall: CallSession = {
  sessionId: '0190b1c2-7d3e-7000-8000-000000000001' as SessionId,
  deviceId: 'TESTDEVICE01' as DeviceId,
  appId: '2818153' as ApplicationId,
  room: {
    msgAppId: 'wx1234567890abcdef',
    modelId: 'model_1.0-a',
    roomId: 'room/1?&=%',
    sessionKey: 'a session key',
    sessionToken: 'a session token',
    payload: '{"who":"the front door"}',
  },
  media: {
    noVideo: false,
    upVideo: 'h265',
    downVideo: 'mjpeg',
    rotation: 2,
    screen: { width: 320, height: 240 },
    resolution: 'fit_screen',
    downAudio: 'amr',
    audioRate: 16_000,
    audioChannels: 2,
  },
  callingTimeoutS: 45,
  state: 'issued',
  createdAtMs: 1_800_000_000_123,
  expiresAtMs: 1_800_000_105_000,
  ringsFromMs: null,
  hasSeenDevice: false,
  hasSeenBridge: true,
  connectedTokens: [],
};

/** Sets every field that the other call leaves empty. */
export const audioCall: CallSession = {
  ...videoCall,
  sessionId: '0190b1c2-7d3e-7000-8000-000000000002' as SessionId,
  appId: '\ufeffan application of many bytes, and more than sixty-four of them at that' as ApplicationId,
  room: {
    ...videoCall.room,
    roomId: `\ufeff${'é'.repeat(60)}`,
    sessionKey: `\ufeff${'k'.repeat(1021)}`,
    sessionToken: '\ufeff\0\u{1f600}',
    payload: '',
  },
  media: audioOnlyMedia,
  state: 'attempting',
  ringsFromMs: 1_800_000_005_001,
  hasSeenDevice: true,
  hasSeenBridge: false,
  connectedTokens: ['token-1' as TokenId, '0190b1c2-7d3e-7000-8000-000000000003' as TokenId],
};

export function callOf(deviceId: DeviceId, session: CallSession = videoCall): CallSession {
  return { ...session, deviceId };
}

export function endOf({ deviceId, sessionId }: CallSession, atMs = 1_800_000_000_000): EventDraft {
  return {
    type: 'call.ended',
    data: { session: sessionId, state: 'ended', reason: 'hangup_phone' },
    deviceId,
    atMs,
    epoch: null,
  };
}
