/** A real server with its media process, and calls that need no decoder. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Launch } from './cli-process.ts';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { ApiClient } from './api-client.ts';
import { issueCall } from './call-actions.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { startServerProcess, withMedia, type ServerProcess } from './server-process.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';
import { testBridgeKeys, testCredentials, writeTestRegistry } from './test-server.ts';

export interface MediaScene {
  readonly server: ServerProcess;
  readonly directory: string;
  readonly url: string;
  readonly api: ApiClient;
}

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

export const untouchedVideo = { down_video_mt: 'h264', video_res_mode: 'auto' } as const;

/**
 * Opens both legs of a call that needs no decoder. `change`: fields of the backend's request; `onFrame`: called with each frame
 * of the device.
 */
export async function openLegs(
  scene: Pick<MediaScene, 'api' | 'url'>,
  change: object = {},
  onFrame: () => void = () => undefined,
): Promise<{ device: DeviceLeg; bridge: BridgeLeg; token: string }> {
  const { url } = scene;
  const { token, session } = await issueCall(scene, { ...untouchedVideo, ...change });
  const device = await DeviceLeg.connect({ url, token, onFrame });
  const bridge = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session });
  await bridge.next('start');
  return { device, bridge, token };
}

/** A key frame that is forwarded without decoding. */
export function untouchedFrame(timestampMs = 0): Buffer {
  const header = { kind: 'video', format: 'h264', isKeyFrame: true, width: 16, height: 16 } as const;
  const bytes = encodeFrameHeader({ ...header, timestampMs });
  return Buffer.concat([bytes, Buffer.from('000000016588', 'hex')]);
}

export async function showFrame(device: DeviceLeg, bridge: BridgeLeg): Promise<void> {
  bridge.frame(untouchedFrame());
  await seesFrames(device, 1);
}

/**
 * Resolves when `count` frames have arrived in total. Rejects when the leg closes before. It sends nothing meanwhile, since
 * pings are rate-limited.
 */
export async function seesFrames({ counts, closed }: DeviceLeg, count: number): Promise<void> {
  let end: object | null = null;
  void closed.then((close) => (end = close));
  while (counts.videoFrames < count) {
    assert.equal(end, null, 'the leg was closed');
    await pause(5);
  }
}
