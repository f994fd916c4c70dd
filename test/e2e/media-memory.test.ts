/** The memory of a media process is limited, and exceeding the limit does not end the server. Source: docs/media.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  mediaHeapGrowthPercent,
  mediaHeapMebibytesMax,
  mediaMemoryShareMax,
  mediaSemiSpaceMebibytesMax,
} from '../../src/model/media/decoding-limits.ts';
import { callStatus } from '../support/call-actions.ts';
import { openLegs, openMediaScene, showFrame, type MediaScene } from '../support/media-process-scene.ts';
import { limitProcess, noPrlimit } from '../support/process-limit.ts';
import { mediaChild } from '../support/server-process.ts';

const skip = process.platform === 'linux' ? noPrlimit : 'the kernel tells the limits of a process on Linux';

function fileOf(pid: number, name: string): string {
  return readFileSync(`/proc/${pid}/${name}`, 'utf8');
}

async function answers({ api }: MediaScene): Promise<void> {
  const { status } = await api.call({ ...callStatus, query: 'device_id=TESTDEVICE01' });
  assert.equal(status, 200);
}

test('a media process has limits of heap and writable memory, and is killed first', { skip }, async (t) => {
  const scene = await openMediaScene(t);
  const { pid } = await mediaChild(scene.server);

  const started = fileOf(pid, 'cmdline').split('\0');
  assert.ok(started.includes(`--max-old-space-size=${mediaHeapMebibytesMax}`));
  assert.ok(started.includes(`--max-semi-space-size=${mediaSemiSpaceMebibytesMax}`));
  assert.ok(started.includes(`--heap-growing-percent=${mediaHeapGrowthPercent}`));
  const bytesMax = Number(/^Max data size +(\d+) /m.exec(fileOf(pid, 'limits'))?.[1]);
  assert.ok(bytesMax > 0 && bytesMax <= totalmem() * mediaMemoryShareMax, `${bytesMax} bytes`);
  assert.equal(Number(fileOf(pid, 'oom_score_adj')), 500);
  const writable = Number(/^VmData:\s+(\d+) kB/m.exec(fileOf(pid, 'status'))?.[1]) * 1024;
  assert.ok(writable < bytesMax / 2, `${writable} bytes at rest`);
});

test(
  'a media process that runs out of memory ends alone, and calls continue in the next one',
  { skip },
  async (t) => {
    const scene = await openMediaScene(t);
    const { pid } = await mediaChild(scene.server);
    const { device, bridge } = await openLegs(scene);
    await showFrame(device, bridge);
    const next = mediaChild(scene.server, 2);

    limitProcess(pid, 'data', 1);
    const legs = [];
    for (let found = null; found === null;) {
      legs.push(openLegs(scene).catch(() => undefined));
      await answers(scene);
      found = await Promise.race([next, pause(20, null)]);
    }
    await Promise.all(legs);

    assert.notEqual((await next).pid, pid);
    await answers(scene);
    const later = await openLegs(scene);
    await showFrame(later.device, later.bridge);
  },
);
