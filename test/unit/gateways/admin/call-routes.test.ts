import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallEndReason, CallSession } from '../../../../src/model/call.ts';
import type { DeviceId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import { callRoutes, type CallDeps } from '../../../../src/gateways/admin/call-routes.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { callMedia, callRoom, callSession } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testApp, testDevice } from '../../../support/fakes.ts';

const secrets = ['planted-session-key', 'planted-session-token', 'planted-payload', 'planted-token-id'];

const room = {
  ...callRoom,
  sessionKey: 'planted-session-key',
  sessionToken: 'planted-session-token',
  payload: 'planted-payload',
};

const busy = { busy: 0.7, taken: 0.8, room: 0 };
const idle = { busy: 0, taken: 0, room: 9 };

/** The calls of the server as the routes see them. */
class Scene implements CallDeps {
  readonly clock = new DrivenClock();
  readonly live = new Map<SessionId, CallSession>();
  readonly ends: [SessionId, CallEndReason][] = [];
  outstanding: Promise<void> | null = null;
  ticketsAreOut = false;

  readonly calls: CallDeps['calls'] = {
    find: (id) => this.live.get(id) ?? null,
    sessionsOf: (deviceId) => [...this.live.values()].filter((each) => each.deviceId === deviceId),
    sessions: () => this.live.values(),
    end: (id, reason) => {
      this.ends.push([id, reason]);
      return this.live.delete(id);
    },
    hasDevice: (id) => id === 'with-device',
    hasBridge: (id) => id === 'with-bridge',
    committed: () => this.outstanding,
  };

  readonly bridges: CallDeps['bridges'] = {
    waitsFor: (id) => (id === 'with-device' ? 'load' : null),
  };

  readonly media: CallDeps['media'] = {
    capacity: () => [
      {
        process: 0,
        address: '127.0.0.1:8083',
        legs: 3,
        sessions: 2,
        workers: [busy, idle],
        engine: '8.0',
        soundEncoders: ['alaw'],
      },
      {
        process: 1,
        address: '127.0.0.1:8084',
        legs: 0,
        sessions: 0,
        workers: [idle],
        engine: null,
        soundEncoders: [],
      },
    ],
  };

  readonly tickets: CallDeps['tickets'] = {
    issue: (id) =>
      this.ticketsAreOut ? null : { ticket: `ticket of ${id}`, expiresAtMs: 1_800_000_060_000 },
  };

  mediaOrigin(): string {
    return 'https://media.example:8083';
  }

  add(id: string, overrides: Partial<CallSession> = {}): void {
    const sessionId = id as SessionId;
    this.live.set(sessionId, callSession({ sessionId, room, ...overrides }));
  }

  ask(method: 'GET' | 'POST', path: string, asked?: string | object): Promise<RouteReply> {
    return askRoute(callRoutes(this), method, path, asked);
  }

  async list(query = ''): Promise<{ readonly sessions: readonly string[]; readonly more: boolean }> {
    const { status, body } = await this.ask('GET', '/v1/calls', query);
    assert.equal(status, 200);
    const { calls, more } = body as { calls: { session: string }[]; more: boolean };
    return { sessions: calls.map((call) => call.session), more };
  }
}

test('a live session is listed with its legs and its media, and without any secret', async () => {
  const scene = new Scene();
  const connectedTokens = ['planted-token-id' as TokenId];
  scene.add('with-device', { state: 'establishing', connectedTokens });
  const listed = await scene.ask('GET', '/v1/calls');
  assert.deepEqual(listed, {
    status: 200,
    body: {
      calls: [
        {
          session: 'with-device',
          app_id: testApp,
          device_id: testDevice,
          room_id: 'room-1',
          state: 'establishing',
          created_at: '1970-01-01T00:16:40.000+00:00',
          expires_at: '1970-01-01T00:18:20.000+00:00',
          legs: { device: true, bridge: false },
          waits_for: 'load',
          media: {
            no_video: false,
            up_video_mt: 'h264',
            down_video_mt: 'mjpeg',
            down_video_rotation: 0,
            screen_width: 160,
            screen_height: 100,
            video_res_mode: 'fit_screen',
            down_audio_mt: 'alaw',
            audio_rate: 8000,
            audio_channels: 1,
          },
        },
      ],
      more: false,
    },
  });
  const text = JSON.stringify(listed.body);
  for (const secret of secrets) assert.ok(!text.includes(secret), secret);
});

test('the capacity is listed for each media process, and summed up', async () => {
  const { status, body } = await new Scene().ask('GET', '/v1/calls/capacity');
  const { room, processes } = body as { room: number; processes: { process: number; room: number }[] };
  assert.deepEqual([status, room], [200, 18]);
  assert.deepEqual(
    processes.map((each) => [each.process, each.room]),
    [
      [0, 9],
      [1, 9],
    ],
  );
});

test('sessions are listed for all devices or one, up to a limit, with a mark if there are more', async () => {
  const scene = new Scene();
  for (const id of ['1', '2', '3']) scene.add(id);
  scene.add('4', { deviceId: 'OTHER' as DeviceId });
  assert.deepEqual(await scene.list(), { sessions: ['1', '2', '3', '4'], more: false });
  assert.deepEqual(await scene.list('limit=4'), { sessions: ['1', '2', '3', '4'], more: false });
  assert.deepEqual(await scene.list('limit=3'), { sessions: ['1', '2', '3'], more: true });
  assert.deepEqual(await scene.list('device_id=OTHER'), { sessions: ['4'], more: false });
  assert.deepEqual(await scene.list(`device_id=${testDevice}&limit=2`), { sessions: ['1', '2'], more: true });
  assert.deepEqual(await scene.list('device_id=NOBODY'), { sessions: [], more: false });
});

test('an audio-only session has no screen', async () => {
  const scene = new Scene();
  scene.add('1', { media: { ...callMedia, noVideo: true, screen: null } });
  const { body } = await scene.ask('GET', '/v1/calls');
  const [call] = (body as { calls: { media: Record<string, unknown> }[] }).calls;
  assert.deepEqual(
    [call?.media['no_video'], call?.media['screen_width'], call?.media['screen_height']],
    [true, null, null],
  );
});

test('an operator ends a session once, as cancelled or with the given reason', async () => {
  const scene = new Scene();
  scene.add('1');
  scene.add('2');
  assert.deepEqual(await scene.ask('POST', '/v1/calls/end', { session: '1' }), {
    status: 200,
    body: { session: '1', device_id: testDevice, reason: 'cancelled' },
  });
  const told = await scene.ask('POST', '/v1/calls/end', { session: '2', reason: 'error' });
  assert.equal(told.status, 200);
  assert.deepEqual(scene.ends, [
    ['1', 'cancelled'],
    ['2', 'error'],
  ]);
  assert.deepEqual(await scene.ask('POST', '/v1/calls/end', { session: '1' }), {
    status: 404,
    body: { error: 'no live call session "1"' },
  });
});

test('an end is answered when it is committed, or after 2 s with the fact that it is not', async () => {
  const scene = new Scene();
  scene.add('1');
  let commit: () => void = () => undefined;
  scene.outstanding = new Promise((resolve) => (commit = resolve));
  let isAnswered = false;
  const ending = scene.ask('POST', '/v1/calls/end', { session: '1' }).finally(() => (isAnswered = true));
  await new Promise(setImmediate);
  assert.equal(isAnswered, false);
  commit();
  assert.equal((await ending).status, 200);

  scene.add('2');
  scene.outstanding = new Promise(() => undefined);
  const stuck = scene.ask('POST', '/v1/calls/end', { session: '2' });
  scene.clock.advance(2000);
  assert.deepEqual(await stuck, {
    status: 503,
    body: { error: 'the call has ended, but the store has not committed that yet' },
  });
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a list waits for pending commits, within a limit', async () => {
  const scene = new Scene();
  scene.add('1');
  scene.outstanding = new Promise(() => undefined);
  const listing = scene.list();
  await new Promise(setImmediate);
  scene.clock.advance(2000);
  assert.deepEqual(await listing, { sessions: ['1'], more: false });
});

test('a ticket comes with its link', async () => {
  const scene = new Scene();
  scene.add('1');
  assert.deepEqual(await scene.ask('POST', '/v1/calls/ticket', { session: '1' }), {
    status: 200,
    body: {
      ticket: 'ticket of 1',
      url: 'https://media.example:8083/media/v1/downlink.mjpeg?ticket=ticket+of+1',
      expires_at: '2027-01-15T08:01:00.000+00:00',
    },
  });
  assert.equal((await scene.ask('POST', '/v1/calls/ticket', { session: '2' })).status, 404);
  scene.ticketsAreOut = true;
  assert.equal((await scene.ask('POST', '/v1/calls/ticket', { session: '1' })).status, 503);
});
