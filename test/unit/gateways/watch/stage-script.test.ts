/** The watch page's connection by WebRTC, and the element that each stream is shown in. */
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

type State = 'connected' | 'disconnected' | 'failed';

interface OpenedLive {
  readonly live: unknown;
  /** Requests, by method and URL. */
  readonly asked: readonly string[];
  /** How often the page has been told that the connection is gone by then. */
  readonly become: (next: State) => number;
}

/** A connection of the page that comes to this state, and then to others as the test says. */
async function openLive(state: State): Promise<OpenedLive> {
  const asked: string[] = [];
  let gone = 0;
  let become: (next: State) => void = () => assert.fail('there is no connection');
  class Connection {
    connectionState = 'new';
    onconnectionstatechange = (): void => undefined;
    readonly localDescription = { sdp: 'v=0' };
    constructor() {
      become = (next) => {
        this.connectionState = next;
        this.onconnectionstatechange();
      };
    }
    createDataChannel = (): object => ({});
    addTransceiver = (): void => undefined;
    setLocalDescription = async (): Promise<void> => undefined;
    setRemoteDescription = async (): Promise<void> => become(state);
    close = (): void => undefined;
  }
  const ask = async (url: string | URL, { method }: { readonly method: string }): Promise<object> => {
    asked.push(`${method} ${String(url)}`);
    const headers = new Map([['Location', '/media/v1/whep/session']]);
    return { ok: true, url: String(url), headers, text: async () => 'v=0' };
  };
  const owner = { gone: () => (gone += 1), track: assert.fail, picture: assert.fail };
  const timers = { setTimeout: () => 0, clearTimeout: () => undefined };
  const context = createContext({
    window: { RTCPeerConnection: Connection },
    RTCPeerConnection: Connection,
    fetch: ask,
    owner,
    URL,
    ...timers,
  });
  const opening = new Script(`${liveScript} openLive('https://media.example/media/v1/whep?ticket=t', owner)`);
  const live: unknown = await opening.runInContext(context);
  return {
    live,
    asked,
    become: (next) => {
      become(next);
      return gone;
    },
  };
}

test('a connection that is disturbed for a moment is kept, and one that is lost is told', async () => {
  const { live, become } = await openLive('connected');
  assert.ok(live !== null);
  assert.deepEqual([become('disconnected'), become('connected'), become('failed')], [0, 0, 1]);
});

test('a connection that cannot be made is ended at the server, which counts it as a viewer', async () => {
  const { live, asked } = await openLive('failed');
  assert.equal(live, null);
  assert.deepEqual(asked, [
    'POST https://media.example/media/v1/whep?ticket=t',
    'DELETE https://media.example/media/v1/whep/session',
  ]);
});
