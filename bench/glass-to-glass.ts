/**
 * How long a picture takes from a simulated bridge's hand until somebody sees it: at a device's leg, and on the page of a viewer
 * in Chromium, by MJPEG and by WebRTC. Each picture has its number drawn in black and white squares, which the browser reads
 * from what it shows at every repaint. Server, bridge, device and browser share the machine, and its clock.
 *
 *   npm run bench:glass [seconds]
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { OpsClient } from '../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../src/gateways/ops/ops-token.ts';
import { openEngine } from '../src/media/codec/engine.ts';
import type { Size } from '../src/model/call.ts';
import { encodeFrameHeader } from '../src/protocol/media/frame-header.ts';
import { openFrameCoder } from '../src/tools/bridge/frame-coder.ts';
import { BridgeLeg, DeviceLeg } from '../src/tools/simulator/media-leg.ts';
import { issueCall } from '../test/support/call-actions.ts';
import { Chromium } from '../test/support/chromium.ts';
import { openMediaScene } from '../test/support/media-process-scene.ts';
import { lastFirst, type Ending } from '../test/support/temporary-store.ts';
import { testBridgeKeys } from '../test/support/test-server.ts';
import { LatencyRecorder } from './load/latency.ts';

const size: Size = { width: 640, height: 480 };
const framesPerSecond = 15;
const seconds = Number(process.argv[2] ?? 8);
/** Squares across and down: the bits of the number, and below each its opposite. */
const [columns, rows] = [8, 4];
const numbers = 2 ** 16;

const ends: (() => void | Promise<void>)[] = [];
const t: Ending = lastFirst({ after: (end) => void ends.push(end) });
try {
  for (const way of ['MJPEG', 'WebRTC'] as const) await measure(way);
} finally {
  for (const end of ends.toReversed()) await end();
}

/** What the page shows of this stream, read at every repaint. */
function watchingOf(stream: string): string {
  return `(() => {
    const canvas = new OffscreenCanvas(${columns * 10}, ${rows * 10});
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const seen = (window.seen ??= {});
    seen['${stream}'] = [];
    let last = null;
    const look = () => {
      requestAnimationFrame(look);
      const shown = document.querySelector('[data-stage="${stream}"] > :not([hidden])');
      if (!(shown?.naturalWidth > 0 || shown?.videoWidth > 0 || shown?.width > 0)) return;
      context.drawImage(shown, 0, 0, canvas.width, canvas.height);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      const bits = Array.from({ length: ${columns * rows} }, (_, bit) => {
        const x = (bit % ${columns}) * 10 + 5, y = Math.floor(bit / ${columns}) * 10 + 5;
        return data[(y * canvas.width + x) * 4] > 127 ? 1 : 0;
      });
      const half = bits.length / 2;
      if (bits.slice(0, half).some((bit, at) => bit === bits[half + at])) return;
      const number = bits.slice(0, half).reduce((sum, bit) => sum * 2 + bit, 0);
      if (number !== last) seen['${stream}'].push([number, performance.timeOrigin + performance.now()]);
      last = number;
    };
    look();
  })()`;
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

async function measure(way: 'MJPEG' | 'WebRTC'): Promise<void> {
  const scene = await openMediaScene(t);
  const { token, session } = await issueCall(scene);
  const sentMs = new Map<number, number>();
  const toDevice = new LatencyRecorder();
  const device = await DeviceLeg.connect({
    url: scene.url,
    token,
    onFrame: ({ timestampMs }) => toDevice.add(nowMs() - (sentMs.get(numberAt(timestampMs)) ?? nowMs())),
  });
  const bridge = await BridgeLeg.connect({ url: scene.url, key: testBridgeKeys.own, session });
  await bridge.next('start');
  bridge.report('connected');
  const ops = new OpsClient(
    `http://127.0.0.1:${scene.server.ports.ops}`,
    findOpsToken(scene.directory) ?? '',
  );
  const { url } = await ops.change<{ readonly url: string }>('/v1/calls/watch', { session });
  // A page may not look into the pictures of another origin, which those of the media listener are.
  const browser = await Chromium.launch(t, ['--disable-web-security']);
  if (way === 'MJPEG') await browser.before('delete window.RTCPeerConnection;');
  await browser.open(url);
  const playing = play(bridge, sentMs);
  await browser.until(`document.querySelector('[data-show="way"]')?.textContent === '${way}'`);
  await pause(1000);
  for (const stream of ['source', 'output']) await browser.evaluate(watchingOf(stream));
  await pause(seconds * 1000);
  await playing.stop();
  if (way === 'MJPEG') print('a device by WebSocket', toDevice);
  type Seen = Readonly<Record<'source' | 'output', readonly (readonly [number, number])[]>>;
  const seen = await browser.evaluate<Seen>('window.seen');
  for (const stream of ['source', 'output'] as const) {
    const latency = new LatencyRecorder();
    for (const [number, atMs] of seen[stream].slice(1)) latency.add(atMs - (sentMs.get(number) ?? atMs));
    print(`a viewer's ${stream} by ${way}`, latency);
  }
  await browser.close();
  await Promise.all([device.terminate(), bridge.terminate()]);
  await scene.server.command.stop('SIGTERM');
}

function play(bridge: BridgeLeg, sentMs: Map<number, number>): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController();
  const whenStopped = playOn(bridge, sentMs, stopping.signal);
  return {
    stop: () => {
      stopping.abort();
      return whenStopped;
    },
  };
}

async function playOn(bridge: BridgeLeg, sentMs: Map<number, number>, stopping: AbortSignal): Promise<void> {
  const engine = await openEngine();
  if (!engine.ok) throw new Error(engine.error);
  const coder = openFrameCoder(engine.value, 'h264', framesPerSecond);
  const startedMs = nowMs();
  for (let number = 0; !stopping.aborted && number < numbers; number += 1) {
    const coded = coder.code(stamped(number), size, number % framesPerSecond === 0);
    if (coded === null) throw new Error('the engine made nothing of a picture');
    const { isKeyFrame, payload } = coded;
    const timestampMs = timestampOf(number);
    const header = { kind: 'video', format: 'h264', isKeyFrame, ...size, timestampMs } as const;
    sentMs.set(number, nowMs());
    bridge.frame(Buffer.concat([encodeFrameHeader(header), payload]));
    await pause(Math.max(0, startedMs + timestampOf(number + 1) - nowMs()));
  }
  coder.close();
}

function timestampOf(number: number): number {
  return Math.round((number * 1000) / framesPerSecond);
}

function numberAt(timestampMs: number): number {
  return Math.round((timestampMs * framesPerSecond) / 1000);
}

/** I420, without colours. */
function stamped(number: number): Uint8Array<ArrayBuffer> {
  const { width, height } = size;
  const picture = new Uint8Array((width * height * 3) / 2).fill(128);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const row = Math.floor((y * rows) / height);
      const bit = (row % 2) * columns + Math.floor((x * columns) / width);
      const isSet = ((number >> (2 * columns - 1 - bit)) & 1) === 1;
      picture[y * width + x] = isSet === row < rows / 2 ? 235 : 16;
    }
  return picture;
}

function print(what: string, latency: LatencyRecorder): void {
  const { count, p50Ms, p99Ms } = latency.read();
  if (count === 0) throw new Error(`${what} saw nothing`);
  console.log(
    `${what.padEnd(34)} ${String(count).padStart(5)} pictures  p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms`,
  );
}
