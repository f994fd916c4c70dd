/** Which element of the watch page a stream is shown in, by what the source is and what the device takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext, Script } from 'node:vm';
import { liveScript } from '../../../../src/gateways/watch/live-script.ts';
import { stageScript } from '../../../../src/gateways/watch/stage-script.ts';
import { viewerCommands } from '../../../../src/protocol/media/rtc-commands.ts';

interface Element {
  hidden: boolean;
  readonly dataset: object;
}

/** The names of the elements that are seen: of the source, and of the output. */
function shown(way: 'WebRTC' | 'MJPEG', device: string, source: string): string[] {
  const element = (): Element & { addEventListener(): void } => ({
    hidden: true,
    dataset: {},
    addEventListener: () => undefined,
  });
  const names = ['image', 'video', 'canvas'] as const;
  const stages = ['source', 'output'].map((name) => {
    const elements = Object.fromEntries(names.map((kind) => [kind, element()]));
    return { name, stage: { children: Object.values(elements) }, ...elements };
  });
  const document = { querySelectorAll: () => [], querySelector: element };
  const main = { dataset: { output: device } };
  const context = createContext({ document, main, stagesShown: stages });
  new Script(`${liveScript}${stageScript}
    live = ${way === 'WebRTC' ? '{}' : 'null'};
    for (const stage of stagesShown) showElement(stage, ${source !== 'h264'});`).runInContext(context);
  return stages.map((stage) => {
    const seen = names.filter((kind) => !(stage as unknown as Record<string, Element>)[kind]?.hidden);
    assert.equal(seen.length, 1, 'one of them');
    return seen[0] ?? '';
  });
}

test('by WebRTC H.264 is played and JPEGs are drawn, of the source and of what the device takes', () => {
  assert.deepEqual(shown('WebRTC', 'mjpeg', 'h264'), ['video', 'canvas']);
  assert.deepEqual(shown('WebRTC', 'mjpeg', 'mjpeg'), ['canvas', 'canvas']);
  assert.deepEqual(shown('WebRTC', 'h264', 'h264'), ['video', 'video']);
  assert.deepEqual(shown('WebRTC', 'h264', 'mjpeg'), ['canvas', 'video']);
});

test('without WebRTC both are pictures of a stream', () => {
  for (const device of ['h264', 'mjpeg'])
    for (const source of ['h264', 'h265'])
      assert.deepEqual(shown('MJPEG', device, source), ['image', 'image']);
});

test('the page asks for sound, and for none, in the bytes of the commands that a viewer has', () => {
  const sent: number[] = [];
  const channel = { readyState: 'open', send: (bytes: Uint8Array) => sent.push(...bytes) };
  new Script(`${liveScript}
    for (const command of [soundCommands.on, soundCommands.off]) sendCommand(channel, command);`).runInContext(
    createContext({ channel }),
  );
  const commands = [0, 4].map((at) => Buffer.from(sent).readUInt32LE(at));
  assert.deepEqual([sent.length, commands], [8, [viewerCommands.hear, viewerCommands.mute]]);
});
