/** The page's WebRTC connection to a call, and the element that shows each stream; bundled as for a browser. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { viewerCommands } from '../../../src/protocol/media/rtc-commands.ts';
import { checkout } from '../../support/checkout.ts';

interface Live {
  setSound(isOn: boolean): void;
}

interface CallModules {
  readonly LiveConnection: { open(link: string, owner: object): Promise<Live | string> };
  shownAs(stream: string, isLive: boolean, formats: { source: string | null; device: string }): string;
}

let modules: CallModules;
before(async () => {
  const contents = `export * from './live-connection.ts'; export * from './stage.ts';`;
  const resolveDir = fileURLToPath(new URL('src/console/call', checkout));
  const stdin = { contents, resolveDir, loader: 'ts' } as const;
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm' });
  const script = encodeURIComponent(outputFiles[0]?.text ?? '');
  modules = (await import(`data:text/javascript,${script}`)) as CallModules;
});

test("by WebRTC H.264 is played and JPEG is drawn, for the source and for the device's format", () => {
  const shown = (device: string, source: string | null): string[] =>
    ['source', 'output'].map((stream) => modules.shownAs(stream, true, { source, device }));
  assert.deepEqual(shown('mjpeg', 'h264'), ['video', 'canvas']);
  assert.deepEqual(shown('mjpeg', null), ['video', 'canvas']);
  assert.deepEqual(shown('mjpeg', 'mjpeg'), ['canvas', 'canvas']);
  assert.deepEqual(shown('h264', 'h264'), ['video', 'video']);
  assert.deepEqual(shown('h264', 'h265'), ['canvas', 'video']);
});

test('without WebRTC both streams are images', () => {
  for (const device of ['h264', 'mjpeg'])
    for (const stream of ['source', 'output'])
      assert.equal(modules.shownAs(stream, false, { source: 'h264', device }), 'image');
});

type State = 'connecting' | 'connected' | 'disconnected' | 'failed';

/** The browser's connection, which enters a state once it has an answer, and further ones as the test says. */
class FakeConnection {
  static state: State = 'connected';
  static latest: FakeConnection;
  connectionState = 'new';
  onconnectionstatechange: (() => void) | null = null;
  readonly localDescription = { sdp: 'v=0' };
  readonly sent: number[] = [];

  constructor() {
    FakeConnection.latest = this;
  }
  become(state: State): void {
    this.connectionState = state;
    this.onconnectionstatechange?.();
  }
  createDataChannel = (): object => ({
    readyState: 'open',
    send: (bytes: Uint8Array) => this.sent.push(...bytes),
  });
  addTransceiver = (): void => undefined;
  setLocalDescription = async (): Promise<void> => undefined;
  setRemoteDescription = async (): Promise<void> => this.become(FakeConnection.state);
  close = (): void => undefined;
}

const { fetch } = globalThis;
after(() => {
  Object.assign(globalThis, { fetch });
  Reflect.deleteProperty(globalThis, 'RTCPeerConnection');
});

interface OpenedLive {
  readonly live: Live | string;
  /** Requests, by method and URL. */
  readonly asked: readonly string[];
  /** Number of times the page learned of a lost connection. */
  readonly lost: () => number;
}

async function openLive(state: State): Promise<OpenedLive> {
  const asked: string[] = [];
  let lost = 0;
  FakeConnection.state = state;
  const fakeFetch = async (url: string | URL, { method }: { readonly method: string }): Promise<object> => {
    asked.push(`${method} ${String(url)}`);
    const headers = new Map([['Location', '/media/v1/whep/session']]);
    return { ok: true, url: String(url), headers, text: async () => 'v=0' };
  };
  Object.assign(globalThis, { fetch: fakeFetch, RTCPeerConnection: FakeConnection });
  const owner = { lost: () => (lost += 1) };
  const live = await modules.LiveConnection.open('https://media.example/media/v1/whep?ticket=t', owner);
  return { live, asked, lost: () => lost };
}

test('a briefly disturbed connection is kept, and a failed one is reported as lost', async () => {
  const { lost } = await openLive('connected');
  const counts = (['disconnected', 'connected', 'failed'] as const).map((state) => {
    FakeConnection.latest.become(state);
    return lost();
  });
  assert.deepEqual(counts, [0, 0, 1]);
});

test('a connection that cannot be established is closed at the server, which counts it as a viewer', async () => {
  const { live, asked } = await openLive('failed');
  assert.equal(live, 'unreachable');
  assert.deepEqual(asked, [
    'POST https://media.example/media/v1/whep?ticket=t',
    'DELETE https://media.example/media/v1/whep/session',
  ]);
});

test('the page switches sound on and off with the bytes of the viewer commands', async () => {
  const { live } = await openLive('connected');
  assert.ok(typeof live === 'object');
  for (const isOn of [true, false]) live.setSound(isOn);
  const { sent } = FakeConnection.latest;
  const commands = [0, 4].map((at) => Buffer.from(sent).readUInt32LE(at));
  assert.deepEqual([sent.length, commands], [8, [viewerCommands.hear, viewerCommands.mute]]);
});
