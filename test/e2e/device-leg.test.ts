import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceLeg, type DeviceLegAccess, LegRefused } from '../../src/tools/simulator/media-leg.ts';
import { LegListener, type TakenLeg } from '../support/leg-listener.ts';
import type { Ending } from '../support/temporary-store.ts';

async function connected(
  t: Ending,
  more: Partial<DeviceLegAccess> = {},
): Promise<readonly [DeviceLeg, TakenLeg]> {
  const listener = await LegListener.open(t);
  const connecting = DeviceLeg.connect({ url: listener.url, token: 'the.token', ...more });
  return Promise.all([connecting, listener.take()]);
}

test('a device leg shows its token, and nothing else of itself', async (t) => {
  const [, taken] = await connected(t);
  assert.equal(taken.request.url, '/media/v1/device');
  assert.equal(taken.request.headers.authorization, 'Bearer the.token');
});

test('a device accepts, rejects and hangs up as the listener takes it', async (t) => {
  const [leg, taken] = await connected(t);
  leg.accept();
  leg.reject();
  leg.hangup();
  leg.hangup(5);
  await taken.whenReceived(4);
  assert.deepEqual(taken.received, [
    '{"type":"accept"}',
    '{"type":"reject"}',
    '{"type":"hangup","reason":1}',
    '{"type":"hangup","reason":5}',
  ]);
});

test('a frame is sent as bytes', async (t) => {
  const [leg, taken] = await connected(t);
  leg.frame(Buffer.from('010100010000000000000000ff', 'hex'));
  await taken.whenReceived(1);
  assert.deepEqual(taken.received, [Buffer.from('010100010000000000000000ff', 'hex')]);
});

test('frames that come are given as header and payload, and all that comes is counted', async (t) => {
  const came: unknown[] = [];
  const onFrame: DeviceLegAccess['onFrame'] = (header, payload) =>
    void came.push([header, Buffer.from(payload).toString()]);
  const [leg, taken] = await connected(t, { onFrame });
  const picture = Buffer.from('01030001004a0064000007d0', 'hex');
  taken.socket.send(Buffer.concat([picture, Buffer.from('jpeg')]));
  taken.socket.send(Buffer.concat([Buffer.from('020100000000000000000014', 'hex'), Buffer.from('tone')]));
  taken.socket.send(Buffer.from('no frame'));
  taken.say({ type: 'key_frame_wanted' });
  await leg.next('key_frame_wanted');
  const video = { kind: 'video', format: 'mjpeg', isKeyFrame: true, width: 74, height: 100 };
  assert.deepEqual(came, [
    [{ ...video, timestampMs: 2000 }, 'jpeg'],
    [{ kind: 'audio', format: 'alaw', timestampMs: 20 }, 'tone'],
  ]);
  const { texts, keyFramesWanted, videoFrames, audioPackets, bytes, malformed } = leg.counts;
  assert.deepEqual([videoFrames, audioPackets, bytes, malformed], [1, 1, 32, 1]);
  assert.deepEqual([texts, keyFramesWanted], [1, 1]);
});

test('who listens for key frames that are wanted is told, and they are not held', async (t) => {
  let asked = 0;
  const [leg, taken] = await connected(t, { onKeyFrameWanted: () => (asked += 1) });
  for (let number = 0; number < 300; number++) taken.say({ type: 'key_frame_wanted' });
  taken.say({ type: 'last' });
  assert.deepEqual(await leg.next('last'), { type: 'last' }, 'and crowd nothing out');
  assert.equal(asked, 300);
});

test('texts wait for whoever asks for them, and whoever asks waits for them', async (t) => {
  const [leg, taken] = await connected(t);
  taken.say({ type: 'state', state: 'ringing' });
  taken.say({ type: 'key_frame_wanted' });
  taken.say({ type: 'state', state: 'connected' });
  assert.deepEqual(await leg.next('key_frame_wanted'), { type: 'key_frame_wanted' });
  const isConnected = await leg.until(({ state }) => state === 'connected');
  assert.deepEqual(isConnected, { type: 'state', state: 'connected' });
  assert.deepEqual(await leg.next('state'), { type: 'state', state: 'ringing' }, 'held meanwhile');
  const ended = leg.until(({ state }) => state === 'ended');
  const other = leg.next('key_frame_wanted');
  taken.say({ type: 'key_frame_wanted' });
  taken.say({ type: 'state', state: 'ended', reason: 'timeout' });
  assert.deepEqual(await ended, { type: 'state', state: 'ended', reason: 'timeout' });
  assert.deepEqual(await other, { type: 'key_frame_wanted' });
});

test('texts that nobody asks for are held up to a limit, the oldest of them', async (t) => {
  const [leg, taken] = await connected(t);
  for (let number = 0; number < 300; number++) taken.say({ type: 'state', number });
  taken.say({ type: 'last' });
  await leg.ping();
  assert.deepEqual(await leg.next('state'), { type: 'state', number: 0 });
  assert.deepEqual(await leg.until(({ number }) => number === 255), { type: 'state', number: 255 });
  const last = leg.next('last');
  taken.say({ type: 'last', again: true });
  assert.deepEqual(await last, { type: 'last', again: true }, 'the first came when there was no room');
});

test('the end of a leg tells code and reason, and rejects whoever waits', async (t) => {
  const [leg, taken] = await connected(t);
  taken.say({ type: 'state', state: 'ended' });
  const waiting = leg.next('start');
  taken.socket.close(1000, 'ended');
  assert.deepEqual(await leg.closed, { code: 1000, reason: 'ended' });
  await assert.rejects(waiting, /the media leg is closed/);
  await assert.rejects(leg.next('start'), /the media leg is closed/);
  assert.equal((await leg.next('state'))['state'], 'ended', 'what came before the end is there');
  leg.accept();
  leg.frame(Buffer.alloc(12));
  await leg.ping();
  assert.deepEqual(taken.received, []);
});

test('a leg says goodbye, or is cut without a word', async (t) => {
  const [polite, itsEnd] = await connected(t);
  const goodbye = new Promise((resolve) => void itsEnd.socket.on('close', resolve));
  assert.equal((await polite.close()).code, 1000);
  assert.equal(await goodbye, 1000);
  const [cut, cutEnd] = await connected(t);
  const silence = new Promise((resolve) => void cutEnd.socket.on('close', resolve));
  assert.equal((await cut.terminate()).code, 1006);
  assert.equal(await silence, 1006);
});

test('a leg that is not let in says with which status', async (t) => {
  const { url } = await LegListener.open(t, { status: 401, body: 'expired' });
  await assert.rejects(DeviceLeg.connect({ url, token: 'old' }), (error) => {
    assert.ok(error instanceof LegRefused);
    assert.deepEqual([error.status, error.reason], [401, 'expired']);
    assert.ok(!error.message.includes('old'), 'the token is not told');
    return true;
  });
});

test('where nobody listens the error of the socket is told', async () => {
  const connecting = DeviceLeg.connect({ url: 'ws://127.0.0.1:1', token: 'the.token' });
  await assert.rejects(connecting, { code: 'ECONNREFUSED' });
});
