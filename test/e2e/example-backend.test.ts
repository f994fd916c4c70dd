/**
 * The example backend as `npm run example:backend` starts it, with the real server, a messaging app that pushes, a device
 * that sleeps, and a bridge.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { ExampleProcess } from '../examples/example-process.ts';
import { readFromRoot, checkout } from '../support/checkout.ts';
import { readBlocks } from '../support/document-blocks.ts';
import { startTestServer, testBridgeKeys, testCredentials } from '../support/test-server.ts';
import { mediaUrl } from '../support/call-actions.ts';

interface MessagingAppOptions {
  /** URL at which the backend receives pushes. */
  readonly url: string;
  readonly token: string;
  /** 43 characters of Base64. */
  readonly encodingAesKey: string;
  readonly appId: string;
}

/** A phone that calls a device. */
interface PhoneCall {
  readonly roomId: string;
  readonly sessionKey: string;
  readonly serverToken: string;
  readonly modelId: string;
  readonly deviceId: string;
  readonly payload?: string;
}

interface PushAnswer {
  readonly status: number;
  readonly text: string;
}

/** Faults of a push, all of which must be refused. */
interface PushSpoil {
  readonly timestampS?: number;
  readonly signature?: string;
  /** Replaces the envelope. */
  readonly body?: string;
  /** Replaces the message. */
  readonly message?: string;
  /** Replaces the mini program's id. */
  readonly appId?: string;
  readonly encodingAesKey?: string;
}

const nonce = '415670741';

class SimulatedMessagingApp {
  readonly #options: MessagingAppOptions;

  constructor(options: MessagingAppOptions) {
    this.#options = options;
  }

  /** Verifies the address of the backend, as the platform's console does. */
  verify(echo: string, spoil: PushSpoil = {}): Promise<PushAnswer> {
    const timestamp = timestampOf(spoil);
    const signature = spoil.signature ?? signPush(this.#options.token, timestamp, nonce);
    const query = new URLSearchParams({ signature, timestamp, nonce, echostr: echo });
    return answerOf(fetch(`${this.#options.url}?${query.toString()}`));
  }

  /** Notifies the backend that a phone in a room waits for a device. */
  push(call: PhoneCall, spoil: PushSpoil = {}): Promise<PushAnswer> {
    const { token, encodingAesKey, appId } = this.#options;
    const message = spoil.message ?? jsonMessage(call);
    const key = aesKey(spoil.encodingAesKey ?? encodingAesKey);
    const encrypted = encryptPush(key, randomBytes(16), message, spoil.appId ?? appId);
    const timestamp = timestampOf(spoil);
    const query = new URLSearchParams({
      signature: signPush(token, timestamp, nonce),
      timestamp,
      nonce,
      openid: 'a-caller',
      encrypt_type: 'aes',
      msg_signature: spoil.signature ?? signPush(token, timestamp, nonce, encrypted),
    });
    const envelope = JSON.stringify({ ToUserName: 'gh_receiver', Encrypt: encrypted });
    const body = spoil.body ?? envelope;
    return answerOf(fetch(`${this.#options.url}?${query.toString()}`, { method: 'POST', body }));
  }
}

function aesKey(encodingAesKey: string): Buffer {
  return Buffer.from(`${encodingAesKey}=`, 'base64');
}

/** SHA-1 over the parts, sorted and joined. */
function signPush(...parts: readonly string[]): string {
  return createHash('sha1')
    .update([...parts].sort().join(''))
    .digest('hex');
}

/** `random`: 16 bytes. */
function plainPush(random: Uint8Array, message: string, appId: string): Buffer {
  const text = Buffer.from(message);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const plain = Buffer.concat([random, length, text, Buffer.from(appId)]);
  const missing = 32 - (plain.length % 32);
  return Buffer.concat([plain, Buffer.alloc(missing, missing)]);
}

function encryptPush(key: Buffer, random: Uint8Array, message: string, appId: string): string {
  const cipher = createCipheriv('aes-256-cbc', key, key.subarray(0, 16)).setAutoPadding(false);
  return Buffer.concat([cipher.update(plainPush(random, message, appId)), cipher.final()]).toString('base64');
}

function timestampOf({ timestampS }: PushSpoil): string {
  return String(timestampS ?? Math.floor(Date.now() / 1000));
}

function fieldsOf(call: PhoneCall): Readonly<Record<string, string>> {
  return {
    ToUserName: 'gh_receiver',
    FromUserName: 'a-caller',
    MsgType: 'event',
    Event: 'iot_voip_notify',
    Action: 'join_voip_room',
    Payload: call.payload ?? '',
    RoomId: call.roomId,
    SessionKey: call.sessionKey,
    ServerToken: call.serverToken,
    ModelId: call.modelId,
    Sn: call.deviceId,
  };
}

function jsonMessage(call: PhoneCall): string {
  return JSON.stringify({ ...fieldsOf(call), CreateTime: 1_709_621_375 });
}

async function answerOf(response: Promise<Response>): Promise<PushAnswer> {
  const { status, text } = await response.then(async (it) => ({ status: it.status, text: await it.text() }));
  return { status, text };
}

const ringing = { status: 200, text: '{"errcode":0,"errmsg":"ok"}' };
const busy = { status: 200, text: '{"errcode":1,"errmsg":"busy"}' };
const refused = { status: 200, text: '{"errcode":2,"errmsg":"refused"}' };

const pushSecrets = {
  token: 'planted-push-token',
  encodingAesKey: 'plantedAesKeyplantedAesKeyplantedAesKey0123',
  appId: 'miniprogram1',
};
const environment = {
  API_ACCESS_KEY_ID: testCredentials.all.accessKeyId,
  API_SECRET_KEY: testCredentials.all.secretKey,
  API_APP_ID: testCredentials.all.appId,
  PUSH_TOKEN: pushSecrets.token,
  PUSH_AES_KEY: pushSecrets.encodingAesKey,
  MSG_APP_ID: pushSecrets.appId,
  PUSH_LISTEN: '127.0.0.1:0',
};

/** Capabilities of a doorbell with a small screen. */
const doorbell = { down_video_mt: 'mjpeg', screen_width: 160, screen_height: 100, audio_rate: 16_000 };

type Step = Readonly<Record<string, unknown>>;

/** The command of package.json. */
function startBackend(
  t: { after(fn: () => void): void },
  env: Readonly<Record<string, string>>,
): ExampleProcess {
  const { scripts } = JSON.parse(readFromRoot('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const [, ...args] = (scripts['example:backend'] ?? '').split(' ');
  return new ExampleProcess(t, [process.execPath, ...args], env, '', fileURLToPath(checkout));
}

const server = await startTestServer();
const origin = `http://127.0.0.1:${server.ports.api}`;
const backend = startBackend({ after: () => undefined }, { ...environment, API_ORIGIN: origin });
const { address } = await step('backend.started', () => true);
const url = `http://127.0.0.1:${(address as { port: number }).port}/push`;
const app = new SimulatedMessagingApp({ url, ...pushSecrets });
after(async () => {
  backend.kill('SIGTERM');
  assert.equal((await backend.ended).code, 0);
  assert.doesNotMatch(backend.lines.join('\n'), /planted|eyJ/, 'no key and no token is in the log');
  await server.stop();
});

async function step(name: string, isWanted: (step: Step) => boolean): Promise<Step> {
  const line = await backend.line((text) => {
    const said = JSON.parse(text) as Step;
    return said['step'] === name && isWanted(said);
  });
  return JSON.parse(line) as Step;
}

function stepsOf({ roomId }: PhoneCall): unknown[] {
  const steps = backend.lines.map((line) => JSON.parse(line) as Step);
  return steps.filter(({ room }) => room === roomId).map(({ step }) => step);
}

const isOf =
  ({ roomId }: PhoneCall) =>
  ({ room }: Step): boolean =>
    room === roomId;

let rooms = 0;

/** A phone in a room of its own. */
function phoneCall(deviceId: string): PhoneCall {
  rooms += 1;
  const secrets = {
    sessionKey: `planted-session-key-${rooms}`,
    serverToken: `planted-server-token-${rooms}`,
  };
  return { roomId: `room-${rooms}`, ...secrets, modelId: 'model_1', deviceId, payload: 'the garden door' };
}

async function joinOf(controller: SignalController): Promise<{ peer_id: string; token: string }> {
  const { name, payload } = await controller.nextMessage();
  assert.deepEqual([name, payload['calling_timeout_sec']], ['msga_join_voip_room', 30]);
  return payload as { peer_id: string; token: string };
}

test('a phone calls a sleeping device: the backend rings once, wakes, notifies and connects it', async () => {
  const device = 'SLEEPING01';
  const call = phoneCall(device);
  await (await server.controller(device, { media: doorbell })).close();
  const bridge = await BridgeLeg.connect({ url: mediaUrl(server), key: testBridgeKeys.own });
  const module = await server.module(device);

  assert.deepEqual(await Promise.all([app.push(call), app.push(call)]), [ringing, ringing]);
  await module.nextPacket();
  const controller = await server.controller(device, { media: doorbell, autoAcknowledge: true });
  const { peer_id, token } = await joinOf(controller);
  const { start } = await bridge.acceptAssignment();
  assert.deepEqual(start.room, {
    app_id: pushSecrets.appId,
    model_id: call.modelId,
    room_id: call.roomId,
    session_key: call.sessionKey,
    session_token: call.serverToken,
  });
  assert.deepEqual([start.request?.width, start.audio.rate, start.payload], [320, 16_000, call.payload]);

  const leg = await DeviceLeg.connect({ url: mediaUrl(server), token });
  leg.accept();
  await bridge.until((text) => text['state'] === 'attempting');
  bridge.report('connected');
  await leg.until((text) => text['state'] === 'connected');
  assert.deepEqual(await app.push(phoneCall(device)), busy, 'another phone does not ring');
  bridge.report('ended', 'hangup_phone');
  await leg.closed;
  const session = new URL(peer_id).searchParams.get('x_session');
  const ended = await step('call.ended', (said) => said['session'] === session);
  assert.equal(ended['reason'], 'hangup_phone');
  assert.deepEqual(await app.push(call), ringing, 'the same answer afterwards');
  assert.deepEqual(
    stepsOf(call).filter((name) => name !== 'message.refused'),
    ['push.received', 'push.repeated', 'credentials.issued', 'call.delivered', 'push.repeated'],
  );
  await Promise.all([controller.close(), module.close(), bridge.close()]);
});

test('a foreign device does not ring, and the call of an unconnected one is given up', async () => {
  for (const device of ['NOBODY01', 'FOREIGN01', 'EXPIRED01']) {
    const call = phoneCall(device);
    assert.deepEqual(await app.push(call), refused);
    assert.deepEqual(stepsOf(call), ['push.received', 'call-status.refused']);
  }
  const call = phoneCall('SLEEPING02');
  assert.deepEqual(await app.push(call), ringing);
  await step('call.failed', isOf(call));
  assert.equal(stepsOf(call).filter((name) => name === 'message.refused').length, 3);
});

test('an unsigned, outdated or wrongly encrypted push starts nothing, and its answer reveals nothing', async () => {
  const nowS = Math.floor(Date.now() / 1000);
  const call = phoneCall('TESTDEVICE01');
  for (const spoil of [
    { signature: '0'.repeat(40) },
    { signature: '' },
    { timestampS: nowS - 330 },
    { timestampS: nowS + 330 },
    { encodingAesKey: 'B'.repeat(43) },
    { appId: 'miniprogram2' },
    { message: 'hello' },
    { body: jsonMessage(call) },
    { body: '' },
    { body: 'x'.repeat(64 * 1024 + 1) },
  ])
    assert.deepEqual(
      await app.push(call, spoil),
      { status: 400, text: '' },
      JSON.stringify(spoil).slice(0, 80),
    );
  assert.deepEqual(stepsOf(call), []);
});

test('the address is verified by its echo, and another event is answered success', async () => {
  assert.deepEqual(await app.verify('4375120948'), { status: 200, text: '4375120948' });
  assert.equal((await app.verify('4375120948', { signature: '0'.repeat(40) })).status, 400);
  const message = jsonMessage(phoneCall('TESTDEVICE01')).replace('iot_voip_notify', 'debug_demo');
  assert.deepEqual(await app.push(phoneCall('TESTDEVICE01'), { message }), { status: 200, text: 'success' });
});

const absent = spawnSync('openssl', ['version']).status !== 0;

test('the manual push of the README calls a device', { skip: absent && 'no openssl here' }, async () => {
  const controller = await server.controller('TESTDEVICE01', { autoAcknowledge: true });
  const { PATH = '' } = process.env;
  const env = { PATH, ...environment, DEVICE_ID: 'TESTDEVICE01', PUSH_URL: url };
  const shell = spawn('sh', ['-eu'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const blocks = readBlocks(readFromRoot('docs/examples/backend/README.md'));
  shell.stdin.end(blocks.find(({ text }) => text.includes('openssl enc'))?.text ?? '');
  let printed = '';
  for await (const piece of shell.stdout) printed += String(piece);
  assert.equal(printed, '200 {"errcode":0,"errmsg":"ok"}\n');
  assert.match((await joinOf(controller)).peer_id, /x_msg_room_id=by-hand-\d+&/);
  await controller.close();
});

test('with missing settings it names them, and exits with 2', async (t) => {
  const { PUSH_TOKEN: _, ...rest } = environment;
  const { code, stderr } = await startBackend(t, rest).ended;
  assert.equal(code, 2);
  assert.match(stderr, /^PUSH_TOKEN is missing/);
  assert.ok(!stderr.includes(environment.API_SECRET_KEY));
});
