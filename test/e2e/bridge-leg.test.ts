import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BridgeLeg, LegRefused } from '../../src/tools/simulator/media-leg.ts';
import { LegListener } from '../support/leg-listener.ts';

const start = {
  type: 'start',
  request: { width: 320, height: 240, rotation: 0, max_fps: 15 },
  audio: { format: 'alaw', rate: 8000, channels: 1 },
  payload: '',
  room: { app_id: 'wx', model_id: 'm', room_id: 'r', session_key: 'k', session_token: 't' },
};

test('a bridge shows its key, and the session it comes for', async (t) => {
  const listener = await LegListener.open(t);
  const idle = listener.take();
  await BridgeLeg.connect({ url: listener.url, key: 'the-key' });
  const { request } = await idle;
  assert.deepEqual([request.url, request.headers.authorization], ['/media/v1/bridge', 'Bearer the-key']);
  const named = listener.take();
  await BridgeLeg.connect({ url: listener.url, key: 'the-key', session: 'a&b' });
  assert.equal((await named).request.url, '/media/v1/bridge?session=a%26b');
});

test('an idle bridge takes the call it is asked to take, is told what to do, and reports', async (t) => {
  const listener = await LegListener.open(t);
  const taking = listener.take();
  const bridge = await BridgeLeg.connect({ url: listener.url, key: 'the-key' });
  const taken = await taking;
  const accepting = bridge.acceptAssignment();
  taken.say({ type: 'assign', session: 's-1' });
  await taken.whenReceived(1);
  taken.say(start);
  assert.deepEqual(await accepting, { assign: { type: 'assign', session: 's-1' }, start });
  bridge.report('connected');
  bridge.report('ended', 'busy');
  await taken.whenReceived(3);
  assert.deepEqual(taken.received, [
    '{"type":"accept"}',
    '{"type":"state","state":"connected"}',
    '{"type":"state","state":"ended","reason":"busy"}',
  ]);
});

test('a bridge that comes for one call refuses others, and takes it', async (t) => {
  const listener = await LegListener.open(t);
  const taking = listener.take();
  const bridge = await BridgeLeg.connect({ url: listener.url, key: 'the-key' });
  const taken = await taking;
  const accepting = bridge.acceptAssignment('s-2');
  taken.say({ type: 'assign', session: 's-1' });
  await taken.whenReceived(1);
  taken.say({ type: 'assign', session: 's-2' });
  await taken.whenReceived(2);
  taken.say(start);
  assert.equal((await accepting).assign.session, 's-2');
  assert.deepEqual(taken.received, ['{"type":"refuse"}', '{"type":"accept"}']);
});

test('a bridge that goes before it is told to start has no call', async (t) => {
  const listener = await LegListener.open(t);
  const taking = listener.take();
  const bridge = await BridgeLeg.connect({ url: listener.url, key: 'the-key' });
  const accepting = bridge.acceptAssignment();
  (await taking).say({ type: 'assign', session: 's-1' });
  await (await taking).whenReceived(1);
  (await taking).socket.close(4503, 'drain');
  await assert.rejects(accepting, /the media leg is closed/);
  assert.deepEqual(await bridge.closed, { code: 4503, reason: 'drain' });
});

test('a bridge of a session that is not there is told 404', async (t) => {
  const { url } = await LegListener.open(t, { status: 404, body: 'unknown_session' });
  await assert.rejects(BridgeLeg.connect({ url, key: 'the-key', session: 'gone' }), (error) => {
    assert.ok(error instanceof LegRefused);
    assert.deepEqual([error.status, error.reason], [404, 'unknown_session']);
    return true;
  });
});
