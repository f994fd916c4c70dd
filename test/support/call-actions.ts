/** Helpers to place a call at a real server: the requests of backends, devices and bridges over real sockets. */
import assert from 'node:assert/strict';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { ApiAnswer, ApiCall } from './api-client.ts';
import { testBridgeKeys, type TestServer } from './test-server.ts';

/** A server in the test's process, or in a process of its own. */
export type CallServer = Pick<TestServer, 'api'> & { readonly ports: Pick<TestServer['ports'], 'media'> };

export const msgSessionKey = 'planted-session-key-0f3b';
export const msgSessionToken = 'planted-server-token-77aa';

/** The body that a backend sends for a doorbell with a small screen. */
export function callBody(change: object = {}): Record<string, unknown> {
  return {
    device_id: 'TESTDEVICE01',
    msg_session_key: msgSessionKey,
    msg_room_id: 'room-1',
    msg_session_token: msgSessionToken,
    msg_app_id: 'wx0123456789abcdef',
    msg_model_id: 'model_1',
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    video_res_mode: 'fit_screen',
    audio_rate: 8000,
    audio_channels: 1,
    ...change,
  };
}

export const issuance = { method: 'POST', path: '/v1/token/msgvoip' } as const;
export const callEnd = { method: 'POST', path: '/v1/device/msgvoip-call/end' } as const;
export const callStatus = { method: 'GET', path: '/v1/device/msgvoip-call-status' } as const;

export interface IssuedCall {
  readonly peerId: string;
  readonly token: string;
  readonly session: string;
  /** URL that the device connects to; null: absent. */
  readonly url: string | null;
}

interface CredentialsData {
  readonly peer_id: string;
  readonly token: string;
  readonly media_url?: string;
}

let requests = 0;

/**
 * Requests call credentials. Adds a counter, since two equal requests within a second have the same signature and count as a
 * repeat.
 */
export function askCredentials(
  server: Pick<CallServer, 'api'>,
  change: object = {},
  call: ApiCall = {},
): Promise<ApiAnswer> {
  requests += 1;
  return server.api.call({
    ...issuance,
    body: JSON.stringify(callBody({ ...change, request: requests })),
    ...call,
  });
}

export async function issueCall(
  server: Pick<CallServer, 'api'>,
  change: object = {},
  call: ApiCall = {},
): Promise<IssuedCall> {
  const { status, text, json } = await askCredentials(server, change, call);
  assert.deepEqual([status, json.code], [200, 0], text);
  const { peer_id: peerId, token, media_url: url = null } = json.data as unknown as CredentialsData;
  return { peerId, token, session: new URL(peerId).searchParams.get('x_session') ?? '', url };
}

/** Ends a call of TESTDEVICE01, unless `fields` names another device. Adds a counter, so that no request repeats an earlier one. */
export function endCall(
  server: Pick<CallServer, 'api'>,
  fields: object,
  call: ApiCall = {},
): Promise<ApiAnswer> {
  requests += 1;
  const body = JSON.stringify({ device_id: 'TESTDEVICE01', ...fields, request: requests });
  return server.api.call({ ...callEnd, body, ...call });
}

export async function isInCall(server: CallServer, deviceId = 'TESTDEVICE01'): Promise<boolean> {
  const { json, text } = await server.api.call({ ...callStatus, query: `device_id=${deviceId}` });
  assert.equal(json.code, 0, text);
  return json.data?.['in_call'] === true;
}

export function mediaUrl({ ports }: CallServer, scheme = 'ws'): string {
  return `${scheme}://127.0.0.1:${ports.media}`;
}

export function connectDevice(server: CallServer, token: string): Promise<DeviceLeg> {
  return DeviceLeg.connect({ url: mediaUrl(server), token });
}

export function connectBridge(
  server: CallServer,
  { key = testBridgeKeys.own, session }: { readonly key?: string; readonly session?: string } = {},
): Promise<BridgeLeg> {
  return BridgeLeg.connect({ url: mediaUrl(server), key, session });
}

/** The key of the call page behind the link that `POST /v1/calls/watch` returns. */
export async function openCallPage(url: string): Promise<string> {
  const body = JSON.stringify({ ticket: new URL(url).searchParams.get('ticket') });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(new URL('/watch/open', url), { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`the page is not opened: ${answer.status}`);
  return ((await answer.json()) as { readonly key: string }).key;
}
