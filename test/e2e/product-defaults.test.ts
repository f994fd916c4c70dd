/**
 * Defaults of a product at the real server: imported, sent in the welcome, used at issuance, and changed while devices are connected.
 * Source: docs/registry.md, Defaults of a product.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { askCredentials, connectBridge } from '../support/call-actions.ts';
import { runCli } from '../support/cli-process.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

const doorbell = {
  heartbeat_s: 120,
  sleep: { servers: ['sleep.example:8881'], retry: { min_s: 5, max_s: 900, jitter: 0.1 } },
  media: {
    up_video_mt: 'h264',
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    video_res_mode: 'fit_screen',
    audio_rate: 16_000,
    audio_channels: 2,
  },
};

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

function cli(...command: readonly string[]): ReturnType<typeof runCli> {
  return runCli([...command, '--data-dir', server.dataDirectory]);
}

async function importDefaults(defaults: unknown, name = 'products.json'): ReturnType<typeof runCli> {
  const file = join(server.dataDirectory, name);
  const product = { product_id: 'doorbell', app_ids: ['2818153'], defaults };
  const text = name.endsWith('.ndjson')
    ? JSON.stringify({ kind: 'product', ...product })
    : JSON.stringify({ products: [product] });
  await writeFile(file, `${text}\n`);
  return cli('registry', 'import', file);
}

async function adviceTold(): Promise<unknown> {
  const controller = await server.controller('SLEEPING01');
  await controller.close();
  const { servers, heartbeat_s, retry } = controller.welcome.sleep;
  return { servers, heartbeat_s, retry };
}

/** No media fields but those of the room. */
const nothingGiven = {
  down_video_mt: undefined,
  screen_width: undefined,
  screen_height: undefined,
  video_res_mode: undefined,
  audio_rate: undefined,
  audio_channels: undefined,
};

test('a device receives the defaults of its product at its next login, and calls use its media defaults', async () => {
  const usual = {
    servers: [`127.0.0.1:${server.ports.sleep}`],
    heartbeat_s: 50,
    retry: { min_s: 2, max_s: 300, jitter: 0.5 },
  };
  assert.deepEqual(await adviceTold(), usual);
  const before = await askCredentials(server, nothingGiven);
  assert.deepEqual([before.json.code, before.json.msg], [40003, 'audio_rate is missing']);

  const here = await server.controller('SLEEPING02');
  const imported = await importDefaults(doorbell);
  assert.equal(imported.exitCode, 0, imported.stderr);
  assert.deepEqual(await adviceTold(), {
    servers: ['sleep.example:8881'],
    heartbeat_s: 120,
    retry: { min_s: 5, max_s: 900, jitter: 0.1 },
  });
  // Connected devices keep the old values.
  here.heartbeat();
  await here.close();

  const bridge = await connectBridge(server);
  const issued = await askCredentials(server, { ...nothingGiven, msg_room_id: 'room-of-defaults' });
  assert.equal(issued.json.code, 0, issued.text);
  const { start } = await bridge.acceptAssignment();
  assert.deepEqual(start.audio, { format: 'alaw', rate: 16_000, channels: 2 });
  await bridge.terminate();

  const wrong = await askCredentials(server, { ...nothingGiven, down_video_mt: 'h264' });
  const rule = 'must be auto unless the video format to the device is mjpeg';
  assert.equal(wrong.json.msg, `video_res_mode, a default of the device's product, ${rule}`);

  assert.equal((await importDefaults(null)).exitCode, 0);
  assert.deepEqual(await adviceTold(), usual);
});
