/** A simulated bridge against a scripted listener, with a driven clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { CommandError } from '../../src/cli/shell/command-error.ts';
import { SimulatedBridge } from '../../src/tools/bridge/simulated-bridge.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import type { Ending } from '../support/temporary-store.ts';

/** A leg of the bridge at the listener. */
interface TakenLeg {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** Messages of the bridge in order: texts as strings, frames as bytes. */
  readonly received: readonly (string | Buffer)[];
  send(text: object): void;
  /** Resolves when `count` messages were received. */
  whenReceived(count: number): Promise<void>;
}

/** A scripted media listener. */
class LegListener {
  readonly url: string;
  readonly #legs: WebSocketServer;

  private constructor(legs: WebSocketServer, port: number) {
    this.#legs = legs;
    this.url = `ws://127.0.0.1:${port}`;
  }

  /** `refusal`: answer to every upgrade. */
  static async open(
    t: Ending,
    refusal: { status: number; body: string } | null = null,
  ): Promise<LegListener> {
    const http = createServer();
    const legs = new WebSocketServer({ noServer: true });
    http.on('upgrade', (request, socket, head) => {
      if (refusal === null)
        return legs.handleUpgrade(request, socket, head, (leg) => legs.emit('connection', leg, request));
      const { status, body } = refusal;
      return socket.end(
        `HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    t.after(() => {
      for (const client of legs.clients) client.terminate();
      http.close();
    });
    return new LegListener(legs, (http.address() as AddressInfo).port);
  }

  /** Resolves with the next leg. Call it before the leg connects. */
  async nextLeg(): Promise<TakenLeg> {
    const [socket, request] = (await once(this.#legs, 'connection')) as [WebSocket, IncomingMessage];
    const received: (string | Buffer)[] = [];
    let note: () => void = () => undefined;
    socket.on('message', (data: Buffer, isBinary) => {
      received.push(isBinary ? data : data.toString('utf8'));
      note();
    });
    return {
      request,
      socket,
      received,
      send: (text) => socket.send(JSON.stringify(text)),
      async whenReceived(count) {
        while (received.length < count) await new Promise<void>((resolve) => (note = resolve));
      },
    };
  }
}

const start = {
  type: 'start',
  request: { width: 320, height: 240, rotation: 0, max_fps: 15 },
  audio: { format: 'alaw', rate: 8000, channels: 1 },
  payload: '',
  room: { app_id: 'a', model_id: 'm', room_id: 'r', session_key: 'k', session_token: 't' },
};

interface Habits {
  readonly session?: string;
  readonly calls?: number;
  readonly answerAfterMs?: number;
}

function openBridge(listener: LegListener, { session, calls = 1, answerAfterMs }: Habits = {}) {
  const clock = new DrivenClock();
  const told: string[] = [];
  const played: string[] = [];
  const waiting: { readonly isThere: () => boolean; readonly resolve: () => void }[] = [];
  const note = (list: string[], word: string): void => {
    list.push(word);
    for (const { isThere, resolve } of waiting) if (isThere()) resolve();
  };
  const bridge = new SimulatedBridge(
    {
      clock,
      onEvent: (event, _json, text) => note(told, event === 'trouble' ? `trouble: ${text}` : event),
      uplink: { video: null, audio: null },
      answerAfterMs: answerAfterMs ?? null,
      url: listener.url,
      key: 'k',
      play: (_start, call) => {
        note(played, 'play');
        call.frame(Buffer.from('first'));
        return { wantKeyFrame: () => note(played, 'key'), stop: () => note(played, 'stop') };
      },
    },
    session ?? null,
    calls,
  );
  const until = (isThere: () => boolean): Promise<void> =>
    isThere() ? Promise.resolve() : new Promise((resolve) => waiting.push({ isThere, resolve }));
  return { bridge, clock, told, played, until };
}

function textsOf(leg: TakenLeg): unknown[] {
  return leg.received.flatMap((message) =>
    typeof message === 'string' ? [JSON.parse(message) as unknown] : [],
  );
}

function state(word: string, reason: string | null = null): object {
  return { type: 'state', session: 's-1', state: word, reason };
}

/** Opens a call up to its ringing. */
async function ringing(coming: Promise<TakenLeg>): Promise<TakenLeg> {
  const leg = await coming;
  leg.send({ type: 'assign', session: 's-1' });
  await leg.whenReceived(1);
  leg.send(start);
  await leg.whenReceived(2);
  return leg;
}

async function openCall(t: Ending, habits: Habits = {}) {
  const listener = await LegListener.open(t);
  const coming = listener.nextLeg();
  const scene = openBridge(listener, habits);
  const running = scene.bridge.run();
  const leg = await ringing(coming);
  return { ...scene, listener, running, leg };
}

test('the bridge rings, reports that the phone has joined when the device accepts, and plays to the end', async (t) => {
  const { bridge, leg, running, played } = await openCall(t);
  assert.deepEqual(textsOf(leg), [{ type: 'accept' }, { type: 'state', state: 'ringing' }]);
  leg.send(state('attempting'));
  await leg.whenReceived(4);
  assert.deepEqual(textsOf(leg).at(-1), { type: 'state', state: 'connected' });
  assert.equal(String(leg.received.at(-1)), 'first');
  leg.send({ type: 'key_frame_wanted' });
  leg.send(state('ended', 'hangup_device'));
  leg.socket.close(1000, 'ended');
  await running;
  assert.deepEqual(played, ['play', 'key', 'stop']);
  assert.equal(bridge.callsDone, 1);
});

test('after its call the bridge reconnects and waits for the next', async (t) => {
  const { listener, leg, running, bridge } = await openCall(t, { calls: 2 });
  const coming = listener.nextLeg();
  leg.send(state('ended', 'rejected'));
  leg.socket.close(1000, 'ended');
  const next = await ringing(coming);
  assert.equal(next.request.url, '/media/v1/bridge');
  next.socket.close(1000, 'ended');
  await running;
  assert.equal(bridge.callsDone, 2);
});

test('a call accepted by another bridge, or with a lost connection, is over for this one', async (t) => {
  for (const part of [
    (leg: TakenLeg) => leg.socket.close(4409, 'replaced'),
    (leg: TakenLeg) => leg.socket.terminate(),
  ]) {
    const { leg, running, played } = await openCall(t);
    leg.send(state('attempting'));
    await leg.whenReceived(4);
    part(leg);
    await running;
    assert.deepEqual(played, ['play', 'stop']);
  }
});

test('a bridge with a named session connects at once', async (t) => {
  const listener = await LegListener.open(t);
  const coming = listener.nextLeg();
  const { bridge, played } = openBridge(listener, { session: 's-9' });
  const running = bridge.run();
  const leg = await coming;
  assert.equal(leg.request.url, '/media/v1/bridge?session=s-9');
  leg.send(start);
  leg.send(state('connected'));
  await leg.whenReceived(2);
  assert.deepEqual(textsOf(leg), [{ type: 'state', state: 'ringing' }]);
  leg.socket.close(1000, 'ended');
  await running;
  assert.deepEqual(played, ['play', 'stop'], 'what was connected already is played to');
});

test('a silent device is answered after a delay', async (t) => {
  const { leg, clock, running, played } = await openCall(t, { answerAfterMs: 3000 });
  clock.advance(2999);
  assert.deepEqual(played, []);
  clock.advance(1);
  await leg.whenReceived(4);
  assert.deepEqual(textsOf(leg).at(-1), { type: 'state', state: 'connected' });
  leg.socket.close(1000, 'ended');
  await running;
});

test('a bridge stopped in a call hangs up; stopped while idle it disconnects', async (t) => {
  const { bridge, leg, running, played } = await openCall(t, { calls: Infinity });
  leg.send(state('attempting'));
  await leg.whenReceived(4);
  bridge.stop();
  await leg.whenReceived(5);
  assert.deepEqual(textsOf(leg).at(-1), { type: 'state', state: 'ended', reason: 'hangup_phone' });
  assert.deepEqual(played, ['play', 'stop']);
  leg.socket.close(1000, 'ended');
  await running;

  const listener = await LegListener.open(t);
  const coming = listener.nextLeg();
  const idle = openBridge(listener);
  const idling = idle.bridge.run();
  await coming;
  await idle.until(() => idle.told.includes('connected'));
  idle.bridge.stop();
  await idling;
  assert.equal(idle.bridge.callsDone, 0);
});

test('a call that does not end after a hangup is cut', async (t) => {
  const { bridge, leg, running, clock } = await openCall(t, { calls: Infinity });
  bridge.stop();
  await leg.whenReceived(3);
  clock.advance(2000);
  await running;
});

test('a refused first connection is reported with advice, and not retried', async (t) => {
  for (const [status, advice] of [
    [401, /--key/],
    [404, /calls list/],
    [503, /^$/],
  ] as const) {
    const listener = await LegListener.open(t, { status, body: '{"error":"no"}' });
    await assert.rejects(openBridge(listener).bridge.run(), (error) => {
      assert.ok(error instanceof CommandError);
      assert.match(error.message, new RegExp(`${status}`));
      assert.match(error.advice ?? '', advice);
      return true;
    });
  }
});

test('a revoked key ends the bridge with a message', async (t) => {
  const { leg, running, played } = await openCall(t, { calls: Infinity });
  leg.send(state('attempting'));
  await leg.whenReceived(4);
  leg.socket.close(4401, 'revoked');
  await assert.rejects(running, /revoked/);
  assert.deepEqual(played, ['play', 'stop']);
});

test('errors of the listener are reported', async (t) => {
  const { leg, running, told } = await openCall(t);
  leg.send({ type: 'error', message: 'the state is …' });
  leg.socket.close(1000, 'ended');
  await running;
  assert.ok(told.includes('trouble: the listener says: the state is …'));
});
