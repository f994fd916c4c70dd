/** The example backend's door for pushes, over real sockets: who is let in, and what a stranger learns. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { PushCipher } from '../../docs/examples/backend/push-crypto.ts';
import { PushListener, type Verdict } from '../../docs/examples/backend/push-listener.ts';
import type { IncomingCall } from '../../docs/examples/backend/push-message.ts';
import { jsonMessage, SimulatedMessagingApp } from '../support/simulated-messaging-app.ts';

const secrets = {
  token: 'a token',
  encodingAesKey: 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG',
  appId: 'miniprogram1',
};
const call = {
  roomId: 'room-1',
  sessionKey: 'planted-session-key',
  serverToken: 'planted-server-token',
  modelId: 'model_1',
  deviceId: 'TESTDEVICE01',
  payload: 'hello',
};
const ringing = { status: 200, text: '{"errcode":0,"errmsg":"ok"}' };

let listener: PushListener;
let url: string;
let app: SimulatedMessagingApp;
let taken: IncomingCall[];
let verdict: Promise<Verdict>;
let said: string[];

before(async () => {
  listener = new PushListener({
    host: '127.0.0.1',
    port: 0,
    path: '/push',
    cipher: new PushCipher(secrets),
    clockWindowS: 300,
    answerWithinMs: 50,
    take: (one) => {
      taken.push(one);
      return verdict;
    },
    log: (step, fields) => said.push(`${step} ${JSON.stringify(fields ?? {})}`),
  });
  url = `http://127.0.0.1:${await listener.listen()}/push`;
  app = new SimulatedMessagingApp({ url, ...secrets });
});
beforeEach(() => {
  taken = [];
  said = [];
  verdict = Promise.resolve('ring');
});
after(() => listener.close());

const nowS = (): number => Math.floor(Date.now() / 1000);

test('the address is verified by its echo', async () => {
  assert.deepEqual(await app.verify('4375120948345356249'), { status: 200, text: '4375120948345356249' });
});

test('an address check that is not signed, or not of now, is refused without its echo', async () => {
  for (const spoil of [
    { signature: '0'.repeat(40) },
    { timestampS: nowS() - 301 },
    { timestampS: nowS() + 302 },
  ])
    assert.deepEqual(await app.verify('echo', spoil), { status: 401, text: '' });
});

test('an address check without an echo, or without anything, is refused', async () => {
  assert.equal((await fetch(url)).status, 400);
  assert.equal((await fetch(`${url}?echostr=x`)).status, 401);
});

for (const format of ['json', 'xml'] as const)
  test(`a call that is pushed as ${format} is taken as it was sent`, async () => {
    const sender = new SimulatedMessagingApp({ url, ...secrets, format });
    assert.deepEqual(await sender.push(call), ringing);
    assert.deepEqual(taken, [call]);
  });

for (const [said, errcode] of [
  ['busy', 1],
  ['refused', 2],
  ['overloaded', 3],
] as const)
  test(`a call that is ${said} does not ring`, async () => {
    verdict = Promise.resolve(said);
    assert.deepEqual(await app.push(call), { status: 200, text: JSON.stringify({ errcode, errmsg: said }) });
  });

test('a push is answered while nobody has decided on it yet', async () => {
  verdict = new Promise(() => undefined);
  assert.deepEqual(await app.push(call), ringing);
  assert.equal(taken.length, 1);
});

test('another event is answered success, and nothing is done', async () => {
  const message = jsonMessage(call).replace('iot_voip_notify', 'debug_demo');
  assert.deepEqual(await app.push(call, { message }), { status: 200, text: 'success' });
  assert.deepEqual(taken, []);
});

const refused: Readonly<
  Record<string, { spoil: Parameters<SimulatedMessagingApp['push']>[1]; status: number }>
> = {
  'a wrong signature': { spoil: { signature: '0'.repeat(40) }, status: 401 },
  'no signature': { spoil: { signature: '' }, status: 401 },
  'a time too old': { spoil: { timestampS: nowS() - 330 }, status: 401 },
  'a time to come': { spoil: { timestampS: nowS() + 330 }, status: 401 },
  'another key': { spoil: { encodingAesKey: 'B'.repeat(43) }, status: 400 },
  'another mini program': { spoil: { appId: 'miniprogram2' }, status: 400 },
  'a message that is none': { spoil: { message: 'hello' }, status: 400 },
  'a call without a room': { spoil: { message: jsonMessage({ ...call, roomId: '' }) }, status: 400 },
  'a message in the clear': { spoil: { body: jsonMessage(call) }, status: 400 },
  'no body': { spoil: { body: '' }, status: 400 },
};

for (const [what, { spoil, status }] of Object.entries(refused))
  test(`a push with ${what} is refused with ${status} and no word more`, async () => {
    assert.deepEqual(await app.push(call, spoil), { status, text: '' });
    assert.deepEqual(taken, []);
  });

test('a body over 64 KiB is refused', async () => {
  assert.deepEqual(await app.push(call, { body: 'x'.repeat(64 * 1024 + 1) }), { status: 413, text: '' });
});

test('a body that is no UTF-8 is refused', async () => {
  const response = await fetch(url, { method: 'POST', body: Buffer.from('{"Encrypt":"\xff"}', 'latin1') });
  assert.equal(response.status, 400);
});

test('another path and another method are none', async () => {
  assert.equal((await fetch(`${url}/more`)).status, 404);
  assert.equal((await fetch(url, { method: 'PUT' })).status, 405);
});

test('a sender that hangs up within its body does not stop the next one', async () => {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  await new Promise<void>((resolve) => {
    socket.write('POST /push HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"Enc', () => resolve());
  });
  socket.destroy();
  assert.deepEqual(await app.push(call), ringing);
});

test('neither keys nor tokens nor payloads are in the log', async () => {
  await app.push(call);
  await app.push(call, { signature: 'f'.repeat(40) });
  await app.push(call, { message: 'planted-session-key' });
  assert.ok(said.length >= 2);
  assert.doesNotMatch(said.join('\n'), /planted|hello|a token|ABCDEFG/);
});
