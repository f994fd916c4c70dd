/** The steps of a call against an API that answers as the test says: what a backend does on each code. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { CallApi, CallDeps } from '../../../docs/examples/backend/call-context.ts';
import { CallFlow } from '../../../docs/examples/backend/call-flow.ts';
import { Capabilities } from '../../../docs/examples/backend/capabilities.ts';
import type { StepFields } from '../../../docs/examples/backend/step-log.ts';

const call = {
  roomId: 'room-1',
  sessionKey: 'planted-session-key',
  serverToken: 'planted-server-token',
  modelId: 'model_1',
  deviceId: 'TESTDEVICE01',
  payload: 'hello',
};

type Method = keyof CallApi;
type Answer = object | Error | Promise<object>;

const ok = (data: object): object => ({ ok: true, status: 200, requestId: 'r', message: 'success', data });
const no = (code: number): object => {
  return { ok: false, status: 200, requestId: 'r', code, message: 'no', retryAfterS: null, data: null };
};
const issued = ok({
  peer_id: 'whips://msgvoip?x_msg_app_id=miniprogram1&x_session=session-1',
  token: 'planted-bearer-token',
});
const received = ok({ id: 'm-1', wakeup: null });
const woken = ok({ id: 'm-1', wakeup: { request_id: 'w-1', status: 'completed', woke_after_ms: 925 } });
const asleep = { ...no(50402), data: { wakeup: { request_id: 'w-1', status: 'accepted' } } };

/** What is asked, in its order, and what is answered: one after the other, the last again and again. */
class ScriptedApi {
  readonly asked: { readonly method: Method; readonly args: readonly unknown[] }[] = [];
  readonly #answers: Record<Method, Answer[]>;

  constructor(answers: Partial<Record<Method, Answer[]>>) {
    this.#answers = {
      callStatus: [ok({ in_call: false })],
      wake: [ok({ status: 'accepted' })],
      issueCallCredentials: [issued],
      sendMessage: [received],
      ...answers,
    };
  }

  get methods(): readonly Method[] {
    return this.asked.map(({ method }) => method);
  }

  argsOf(method: Method): readonly (readonly unknown[])[] {
    return this.asked.filter((one) => one.method === method).map(({ args }) => args);
  }

  /** Each ends, as those of the client do, when its signal is aborted. */
  get api(): CallApi {
    const answer = (method: Method, ...args: readonly unknown[]): Promise<never> => {
      this.asked.push({ method, args });
      const answers = this.#answers[method];
      const next = answers.length > 1 ? answers.shift() : answers[0];
      const { signal } = args.at(-1) as { readonly signal: AbortSignal };
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        if (next instanceof Error) reject(next);
        else void Promise.resolve(next).then((said) => resolve(said as never));
      });
    };
    return {
      callStatus: (...args) => answer('callStatus', ...args),
      wake: (...args) => answer('wake', ...args),
      issueCallCredentials: (...args) => answer('issueCallCredentials', ...args),
      sendMessage: (...args) => answer('sendMessage', ...args),
    };
  }
}

let capabilities: Capabilities;
let steps: { readonly step: string; readonly fields: StepFields }[];

beforeEach(() => {
  capabilities = new Capabilities({ no_video: true, audio_rate: 8000, audio_channels: 1 });
  steps = [];
});

function flowOf(script: ScriptedApi, callMsMax = 60_000, callsMax = 10): CallFlow {
  const deps: CallDeps = {
    api: script.api,
    capabilities,
    caughtUp: Promise.resolve(),
    msgAppId: 'miniprogram1',
    callingTimeoutS: 30,
    catchUpMsMax: 0,
    retryPauseMs: 0,
    log: (step, fields = {}) => void steps.push({ step, fields }),
  };
  return new CallFlow(deps, { callMsMax, callsMax });
}

/** What it came to: the last word of the log. */
async function run(script: ScriptedApi, callMsMax?: number): Promise<{ verdict: string; end: string }> {
  const flow = flowOf(script, callMsMax);
  const verdict = await flow.take(call);
  await flow.settle();
  const { step = '', fields = {} } = steps.at(-1) ?? {};
  return { verdict, end: fields['reason'] === undefined ? step : `${step} ${String(fields['reason'])}` };
}

const usual: readonly Method[] = ['callStatus', 'issueCallCredentials', 'sendMessage'];

test('a call is a status, credentials and a message', async () => {
  const script = new ScriptedApi({});
  assert.deepEqual(await run(script), { verdict: 'ring', end: 'call.delivered' });
  assert.deepEqual(script.methods, usual);
  assert.ok(steps.every(({ step }) => step !== 'device.woken'));
});

test('a request for credentials is the push, the time of the phone and what the device reported', async () => {
  capabilities.note(call.deviceId, {
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    msg_room_id: 'another room',
    calling_timeout_sec: 600,
    audio_rate: '16000',
  });
  const script = new ScriptedApi({});
  await run(script);
  const [body] = script.argsOf('issueCallCredentials')[0] ?? [];
  assert.deepEqual(body, {
    msg_session_key: call.sessionKey,
    msg_room_id: call.roomId,
    msg_session_token: call.serverToken,
    msg_app_id: 'miniprogram1',
    msg_model_id: call.modelId,
    msg_payload: call.payload,
    device_id: call.deviceId,
    calling_timeout_sec: 30,
    down_video_mt: 'mjpeg',
    screen_width: 160,
    screen_height: 100,
    audio_rate: 8000,
    audio_channels: 1,
  });
});

test('the message has what the device joins with', async () => {
  const script = new ScriptedApi({});
  await run(script);
  const [device, name, payload] = script.argsOf('sendMessage')[0] ?? [];
  assert.deepEqual([device, name], [call.deviceId, 'msga_join_voip_room']);
  const { data } = issued as { readonly data: object };
  assert.deepEqual(payload, { ...data, calling_timeout_sec: 30 });
});

test('a device that is asleep is woken by its message, for as long as the phone rings, and the log says so', async () => {
  const script = new ScriptedApi({ sendMessage: [woken] });
  assert.equal((await run(script)).end, 'call.delivered');
  assert.deepEqual(script.methods, usual);
  const [, , , options] = script.argsOf('sendMessage')[0] ?? [];
  const { wake, waitS } = options as { readonly wake: boolean; readonly waitS: number };
  assert.deepEqual([wake, waitS], [true, 30]);
  const { fields } = steps.find(({ step }) => step === 'device.woken') ?? {};
  assert.deepEqual([fields?.['request_id'], fields?.['woke_after_ms']], ['w-1', 925]);
});

test('a device that does not wake in time is tried again, three times in all', async () => {
  const script = new ScriptedApi({ sendMessage: [asleep] });
  assert.equal((await run(script)).end, 'call.failed not_delivered');
  assert.equal(script.argsOf('sendMessage').length, 3);
  assert.equal(script.argsOf('wake').length, 0);
});

test('a device in a call is not called', async () => {
  const script = new ScriptedApi({ callStatus: [ok({ in_call: true })] });
  assert.deepEqual(await run(script), { verdict: 'busy', end: 'call.busy' });
  assert.deepEqual(script.methods, ['callStatus']);
});

for (const code of [40003, 40105, 40301, 40302, 40304, 40403])
  test(`a status refused with ${code} refuses the call`, async () => {
    const script = new ScriptedApi({ callStatus: [no(code)] });
    assert.equal((await run(script)).verdict, 'refused');
    assert.deepEqual(script.methods, ['callStatus']);
  });

for (const status of [no(50000), new Error('unreachable')])
  test(`a status that cannot be had (${status instanceof Error ? 'nobody answers' : '50000'}) stops no call`, async () => {
    const script = new ScriptedApi({ callStatus: [status] });
    assert.deepEqual(await run(script), { verdict: 'ring', end: 'call.delivered' });
  });

test('a module that cannot be woken ends the call', async () => {
  const script = new ScriptedApi({ sendMessage: [no(40902)] });
  assert.equal((await run(script)).end, 'call.failed unreachable');
  assert.equal(script.argsOf('sendMessage').length, 1);
});

for (const code of [40412, 42901, 50000, 50204, 50301])
  test(`a message refused with ${code} is sent again, with the same credentials`, async () => {
    const script = new ScriptedApi({ sendMessage: [no(code), received] });
    assert.equal((await run(script)).end, 'call.delivered');
    assert.equal(script.argsOf('wake').length, 0);
    assert.equal(script.argsOf('issueCallCredentials').length, 1);
  });

test('a device that never comes is given up when the phone has stopped ringing', async () => {
  const script = new ScriptedApi({ sendMessage: [new Promise<object>(() => undefined)] });
  assert.deepEqual(await run(script, 30), { verdict: 'ring', end: 'call.failed time_over' });
});

for (const code of [40003, 40302, 40903])
  test(`credentials refused with ${code} end the call, and nothing goes to the device`, async () => {
    const script = new ScriptedApi({ issueCallCredentials: [no(code)] });
    assert.equal((await run(script)).end, 'call.failed refused');
    assert.equal(script.argsOf('sendMessage').length, 0);
  });

for (const code of [42901, 50000, 50301])
  test(`credentials refused with ${code} are asked for again`, async () => {
    const script = new ScriptedApi({ issueCallCredentials: [no(code), issued] });
    assert.equal((await run(script)).end, 'call.delivered');
  });

test('a device that is online and does not acknowledge is woken, and gets the same message again', async () => {
  for (const wake of [ok({ status: 'accepted' }), no(40412)]) {
    const script = new ScriptedApi({ sendMessage: [no(50402), received], wake: [wake] });
    assert.equal((await run(script)).end, 'call.delivered');
    assert.equal(script.argsOf('wake').length, 1);
    assert.equal(script.argsOf('issueCallCredentials').length, 1, 'its session stays as it is');
    const [first, second] = script.argsOf('sendMessage').map(([, , payload]) => payload);
    assert.notEqual(second, undefined);
    assert.deepEqual(second, first);
  }
});

test('a message that the device is not to have ends the call', async () => {
  const script = new ScriptedApi({ sendMessage: [no(40301)] });
  assert.equal((await run(script)).end, 'call.failed refused');
});

test('an API that does not answer is asked again', async () => {
  const script = new ScriptedApi({ issueCallCredentials: [new Error('unreachable'), issued] });
  assert.equal((await run(script)).end, 'call.delivered');
});

test('calls under way are bounded: one more does not ring', async () => {
  const never = new Promise<object>(() => undefined);
  const flow = flowOf(new ScriptedApi({ issueCallCredentials: [never] }), 60_000, 1);
  assert.equal(await flow.take(call), 'ring');
  assert.equal(await flow.take({ ...call, roomId: 'room-2' }), 'overloaded');
  flow.cut();
  await flow.settle();
  assert.deepEqual(steps.at(-1), {
    step: 'call.failed',
    fields: { room: 'room-1', device: call.deviceId, reason: 'time_over' },
  });
});

test('every step says its room and device, and none a secret', async () => {
  const script = new ScriptedApi({ sendMessage: [no(50402), woken] });
  await run(script);
  assert.ok(steps.length >= 5);
  for (const { fields } of steps)
    assert.deepEqual([fields['room'], fields['device']], ['room-1', call.deviceId]);
  assert.doesNotMatch(JSON.stringify(steps), /planted/);
});
