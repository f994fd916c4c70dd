/** A real server with its media process, and calls in it that need no decoder. */
import type { Launch } from './cli-process.ts';
import assert from 'node:assert/strict';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { ApiClient } from './api-client.ts';
import { callBody, issuance } from './call-actions.ts';
import { startServerProcess, withMedia, type ServerProcess } from './server-process.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';
import { testBridgeKeys, testCredentials, writeTestRegistry } from './test-server.ts';

export interface MediaScene {
  readonly server: ServerProcess;
  readonly directory: string;
  readonly url: string;
  readonly api: ApiClient;
}

/** `overrides`, `env` and `launch` are those of the server's process. */
export async function openMediaScene(
  t: Ending,
  overrides: readonly string[] = [],
  ...more: [env?: NodeJS.ProcessEnv, options?: readonly string[], launch?: Launch]
): Promise<MediaScene> {
  const directory = temporaryDirectory(t);
  const own = [`data.dir=${directory}`, `registry.file=${await writeTestRegistry(directory)}`];
  const server = await startServerProcess(t, [...own, ...withMedia, ...overrides], ...more);
  const api = new ApiClient(server.ports.api, testCredentials.all);
  t.after(() => api.close());
  return { server, directory, url: `ws://127.0.0.1:${server.ports.media}`, api };
}

export async function issueCall(
  { api }: MediaScene,
  change: object = {},
): Promise<{ token: string; session: string }> {
  const { json, text } = await api.call({ ...issuance, body: JSON.stringify(callBody(change)) });
  assert.equal(json.code, 0, text);
  const { token, peer_id } = json.data as { token: string; peer_id: string };
  return { token, session: new URL(peer_id).searchParams.get('x_session') ?? '' };
}

export const untouchedVideo = { down_video_mt: 'h264', video_res_mode: 'auto' } as const;

/** Of a call that needs no decoder. */
export async function openLegs(
  scene: MediaScene,
): Promise<{ device: DeviceLeg; bridge: BridgeLeg; token: string }> {
  const { url } = scene;
  const { token, session } = await issueCall(scene, untouchedVideo);
  const device = await DeviceLeg.connect({ url, token });
  const bridge = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session });
  await bridge.next('start');
  return { device, bridge, token };
}
