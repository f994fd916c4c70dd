import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  moduleAlone,
  wholeDevice,
  type DeviceEvent,
  type DeviceLife,
  type DeviceStage,
  type DeviceState,
  type DeviceStep,
} from '../../../../src/tools/simulator/simulated-device.ts';
import type { SleepAdvice } from '../../../../src/protocol/signal/server-message.ts';

const advice: SleepAdvice = {
  servers: ['one:1', 'two:2', 'three:3'],
  heartbeat_s: 50,
  heartbeat_bytes: 64,
  wake_pattern: '983b16f8f39c',
  wakeup_packet: '983b16f8f39c0000',
  retry: { min_s: 1, max_s: 4, jitter: 0.5 },
};
const signedIn: DeviceEvent = { kind: 'signed-in', advice };
type PlainKind = Exclude<DeviceEvent['kind'], 'signed-in'>;

/** A device with its time; `random` replaces chance. */
class Life {
  state: DeviceState;
  nowMs = 0;
  random = 0.5;
  readonly #life: DeviceLife;

  constructor(life = wholeDevice) {
    this.#life = life;
    this.state = life.begin(0);
  }

  /** Applies an event, and returns the effects in short form. */
  sees(event: DeviceEvent | PlainKind): readonly string[] {
    const { state, effects }: DeviceStep = this.#life.reduce(
      this.state,
      typeof event === 'string' ? { kind: event } : event,
      { nowMs: this.nowMs, random: this.random, habits: { bootMs: 300, onlineMs: 3000 } },
    );
    this.state = state;
    return effects.map((effect) => Object.values(effect).join(' '));
  }

  /** Advances to the next deadline. */
  waits(): readonly string[] {
    assert.notEqual(this.state.untilMs, Infinity, `${this.state.stage} goes on by itself`);
    this.nowMs = Math.max(this.nowMs, this.state.untilMs);
    return this.sees('due');
  }

  /** Boots and logs in. */
  signIn(): this {
    this.waits();
    this.waits();
    this.sees(signedIn);
    return this;
  }

  fallAsleep(): this {
    this.signIn().waits();
    this.sees('fell-asleep');
    assert.equal(this.state.stage, 'asleep');
    return this;
  }
}

test('a device is switched on, boots, logs in, is online for a while, and sleeps', () => {
  const life = new Life();
  assert.deepEqual([life.waits(), life.state.stage, life.state.untilMs], [[], 'booting', 300]);
  assert.deepEqual([life.waits(), life.state.stage], [['sign-in'], 'signing-in']);
  life.nowMs = 350;
  assert.deepEqual(
    [life.sees(signedIn), life.state.stage, life.state.untilMs],
    [['leave-sleep'], 'online', 3350],
  );
  assert.deepEqual([life.waits(), life.state.stage], [['log-in-to-sleep one:1'], 'falling-asleep']);
  assert.deepEqual([life.sees('fell-asleep'), life.state.stage], [['leave-signal'], 'asleep']);
  assert.equal(life.state.untilMs, Infinity);
});

test('a wake packet boots the device; once online it reports the wake cause, and then the module leaves', () => {
  const life = new Life().fallAsleep();
  life.nowMs += 1000;
  assert.deepEqual(life.sees('woken'), []);
  assert.deepEqual([life.state.stage, life.state.wokenMs], ['booting', life.nowMs]);
  assert.deepEqual(life.waits(), ['sign-in']);
  assert.deepEqual(life.sees(signedIn), ['report-wake remote', 'leave-sleep']);
  assert.equal(life.state.wokenMs, null);
});

test('the boot time varies by a quarter', () => {
  const bootMs = (random: number): number => {
    const life = new Life().fallAsleep();
    life.random = random;
    life.sees('woken');
    return life.state.untilMs - life.nowMs;
  };
  assert.deepEqual([bootMs(0), bootMs(0.5), bootMs(1)], [225, 300, 375]);
});

test('a lost sleep connection starts the controller after the advised backoff, with the cause abnormal', () => {
  const life = new Life().fallAsleep();
  assert.deepEqual(life.sees('sleep-lost'), []);
  assert.equal(life.state.stage, 'offline');
  assert.equal(life.state.untilMs - life.nowMs, 1000, 'the least wait, as chance is even');
  life.waits();
  life.waits();
  assert.deepEqual(life.sees(signedIn), ['report-wake abnormal', 'leave-sleep']);
});

test('failed logins back off to the advised maximum; the module stays connected meanwhile', () => {
  const life = new Life().fallAsleep();
  life.sees('woken');
  const waits: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    if (life.state.stage === 'offline') life.waits();
    life.waits();
    assert.deepEqual(life.sees('sign-in-failed'), []);
    waits.push(life.state.untilMs - life.nowMs);
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 4000]);
  life.waits();
  life.waits();
  assert.deepEqual(life.sees(signedIn), ['report-wake remote', 'leave-sleep'], 'it is the same wake');
});

test('a refused sleep login keeps the controller online, and the next server is tried', () => {
  const life = new Life().signIn();
  const tried: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    tried.push(...life.waits());
    life.sees('sleep-failed');
    assert.equal(life.state.stage, 'online');
  }
  assert.deepEqual(
    tried,
    ['one:1', 'two:2', 'three:3', 'one:1'].map((server) => `log-in-to-sleep ${server}`),
  );
});

test('a login without an answer fails after 15 s', () => {
  const signing = new Life();
  signing.waits();
  signing.waits();
  const signingMs = signing.nowMs;
  assert.deepEqual(signing.waits(), ['leave-signal']);
  assert.deepEqual([signing.nowMs - signingMs, signing.state.stage], [15_000, 'offline']);
  const falling = new Life().signIn();
  falling.waits();
  assert.deepEqual(falling.waits(), ['leave-sleep']);
  assert.equal(falling.state.stage, 'online');
});

test('a lost signal connection restarts the device later, and aborts a pending sleep login', () => {
  const online = new Life().signIn();
  assert.deepEqual([online.sees('signal-lost'), online.state.stage], [[], 'offline']);
  const falling = new Life().signIn();
  falling.waits();
  assert.deepEqual([falling.sees('signal-lost'), falling.state.stage], [['leave-sleep'], 'offline']);
});

test('an event without a meaning in a stage changes nothing', () => {
  const useful: Readonly<Record<DeviceStage, readonly DeviceEvent['kind'][]>> = {
    offline: ['due'],
    booting: ['due'],
    'signing-in': ['due', 'signed-in', 'sign-in-failed'],
    online: ['due', 'signal-lost'],
    'falling-asleep': ['due', 'fell-asleep', 'sleep-failed', 'signal-lost'],
    asleep: ['woken', 'sleep-lost'],
  };
  const kinds: readonly PlainKind[] = [
    ...([
      'due',
      'sign-in-failed',
      'signal-lost',
      'fell-asleep',
      'sleep-failed',
      'sleep-lost',
      'woken',
    ] as const),
  ];
  let unmoved = 0;
  for (const stage of Object.keys(useful) as DeviceStage[]) {
    const state: DeviceState = { ...wholeDevice.begin(0), stage, advice };
    for (const event of [signedIn, ...kinds.map((kind) => ({ kind }))]) {
      const circumstances = { nowMs: 0, random: 0, habits: { bootMs: 300, onlineMs: 3000 } };
      const step = wholeDevice.reduce(state, event, circumstances);
      assert.equal(step.state !== state, useful[stage].includes(event.kind), `${stage}: ${event.kind}`);
      if (step.state === state) unmoved += 1;
      if (step.state === state) assert.deepEqual(step.effects, []);
    }
  }
  assert.equal(unmoved, 6 * 8 - 13);
});

/** Backoff in seconds after `failures` (from 1) consecutive failures. */
function retryDelayMs(failures: number, random: number, retry: SleepAdvice['retry'] | null = null): number {
  const before: DeviceState = {
    ...wholeDevice.begin(0),
    stage: 'signing-in',
    failures: failures - 1,
    advice: retry && { ...advice, retry },
  };
  const now = { nowMs: 0, random, habits: { bootMs: 300, onlineMs: 3000 } };
  return wholeDevice.reduce(before, { kind: 'sign-in-failed' }, now).state.untilMs;
}

test('the backoff doubles from 2 s to 300 s', () => {
  assert.deepEqual(
    [1, 2, 3, 8, 9, 1000].map((failures) => retryDelayMs(failures, 0.5)),
    [2000, 4000, 8000, 256_000, 300_000, 300_000],
  );
});

test('jitter varies the backoff by up to half, the maximum too', () => {
  assert.deepEqual(
    [0, 1].map((random) => retryDelayMs(1, random)),
    [1000, 3000],
  );
  assert.deepEqual(
    [0, 1].map((random) => retryDelayMs(9, random)),
    [150_000, 450_000],
  );
});

test('a module alone waits for its turn, ignores wake packets, and reconnects with the default backoff', () => {
  const life = new Life(moduleAlone('sleep:1', 15));
  assert.deepEqual([life.waits(), life.state.stage], [[], 'booting']);
  assert.deepEqual([life.waits(), life.state.untilMs], [['log-in-to-sleep sleep:1'], Infinity]);
  assert.deepEqual([life.sees('fell-asleep'), life.state.stage], [[], 'asleep']);
  const before = life.state;
  assert.deepEqual([life.sees('woken'), life.state], [[], before]);
  life.sees('sleep-lost');
  assert.deepEqual([life.state.stage, life.state.untilMs - life.nowMs], ['offline', 2000]);
  life.waits();
  life.waits();
  life.sees('sleep-failed');
  assert.deepEqual([life.state.stage, life.state.untilMs - life.nowMs], ['offline', 4000]);
});
