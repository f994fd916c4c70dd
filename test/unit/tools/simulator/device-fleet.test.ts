import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceController, DeviceModule } from '../../../../src/tools/simulator/device-connections.ts';
import { DeviceFleet } from '../../../../src/tools/simulator/device-fleet.ts';
import { moduleAlone, wholeDevice } from '../../../../src/tools/simulator/simulated-device.ts';
import type { SocketClosed } from '../../../../src/tools/simulator/opened-socket.ts';
import { SignalRefused } from '../../../../src/tools/simulator/signal-controller.ts';
import { LoginRefused } from '../../../../src/tools/simulator/sleeping-module.ts';
import type { SleepAdvice } from '../../../../src/protocol/signal/server-message.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const advice: SleepAdvice = {
  servers: ['sleep:1'],
  heartbeat_s: 50,
  heartbeat_bytes: 64,
  wake_pattern: '983b16f8f39c',
  wakeup_packet: '983b16f8f39c0000',
  retry: { min_s: 2, max_s: 300, jitter: 0.5 },
};

/** Events of all connections, in order. */
type Story = string[];

class FakeController implements DeviceController {
  readonly welcome = { epoch: 1, heartbeat_s: 30, server_time: 0, sleep: advice };
  readonly closed: Promise<SocketClosed>;
  heartbeats = 0;
  end: (closed: SocketClosed) => void = () => undefined;
  readonly #story: Story;

  constructor(story: Story) {
    this.#story = story;
    this.closed = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  heartbeat(): void {
    this.heartbeats += 1;
  }

  reportWake(cause: string): void {
    this.#story.push(`wake report: ${cause}`);
  }

  bye(reason: string): Promise<SocketClosed> {
    this.#story.push('signal left');
    this.end({ code: 1000, reason });
    return this.closed;
  }

  close(): Promise<SocketClosed> {
    return this.closed;
  }
}

class FakeModule implements DeviceModule {
  heartbeats = 0;
  readonly #story: Story;
  #settle: { readonly resolve: (packet: Buffer) => void; readonly reject: (error: Error) => void } | null =
    null;

  constructor(story: Story) {
    this.#story = story;
  }

  heartbeat(): void {
    this.heartbeats += 1;
  }

  nextPacket(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  close(): Promise<void> {
    this.#story.push('sleep left');
    this.#settle?.reject(new Error('left'));
    return Promise.resolve();
  }

  deliver(hex: string): void {
    this.#settle?.resolve(Buffer.from(hex, 'hex'));
  }
}

/** Resolves when all pending promise callbacks have run. */
function untilIdle(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

interface Answers {
  signal: Error | Promise<DeviceController> | null;
  sleep: Error | null;
}

function stage(count: number, rampPerSecond = 1000, life = wholeDevice) {
  const clock = new DrivenClock();
  const story: Story = [];
  const controllers: FakeController[] = [];
  const modules: FakeModule[] = [];
  const answers: Answers = { signal: null, sleep: null };
  const paces: number[] = [];
  const devices = Array.from({ length: count }, (_, i) => ({ deviceId: `D${i}`, secret: 's' }));
  const fleet = new DeviceFleet(
    devices,
    { life, bootMs: 300, onlineMs: 3000, rampPerSecond },
    {
      clock,
      random: () => 0.5,
      endpointsOf: ({ deviceId }) => ({
        signIn: () => {
          story.push(`${deviceId} signs in`);
          if (answers.signal instanceof Error) return Promise.reject(answers.signal);
          if (answers.signal !== null) return answers.signal;
          const controller = new FakeController(story);
          controllers.push(controller);
          return Promise.resolve(controller);
        },
        advise: (given) => given,
        fallAsleep: (server, { heartbeat_s: heartbeatSeconds }) => {
          story.push(`${deviceId} logs into ${server}`);
          paces.push(heartbeatSeconds);
          if (answers.sleep !== null) return Promise.reject(answers.sleep);
          const module = new FakeModule(story);
          modules.push(module);
          return Promise.resolve(module);
        },
      }),
      onWake: (deviceId, packet) => story.push(`${deviceId} hears ${packet.toString('hex')}`),
      onAwake: (deviceId, tookMs) => story.push(`${deviceId} awake after ${tookMs} ms`),
      onTrouble: (deviceId, error) => story.push(`${deviceId}: ${error.message}`),
    },
  );
  /** Advances time in steps, so that started work can complete. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 20) {
      clock.advance(20);
      await untilIdle();
    }
  };
  return { clock, story, controllers, modules, answers, paces, fleet, pass };
}

const wakePacket = '983b16f8f39c0000';

test('a device logs in, lets its module sleep, and leaves', async () => {
  const { fleet, story, pass } = stage(1);
  fleet.start();
  await pass(400);
  assert.equal(fleet.tally.inStage('online'), 1);
  await pass(3100);
  assert.deepEqual(story, ['D0 signs in', 'D0 logs into sleep:1', 'signal left']);
  assert.deepEqual([fleet.tally.inStage('asleep'), fleet.tally.logins, fleet.tally.sleepLogins], [1, 1, 1]);
  fleet.stop();
});

test('a wake packet brings a device online again, and its time is reported', async () => {
  const { fleet, story, modules, pass } = stage(1);
  fleet.start();
  await pass(3500);
  story.length = 0;
  modules[0]?.deliver(wakePacket);
  await pass(400);
  assert.deepEqual(story, [
    `D0 hears ${wakePacket}`,
    'D0 signs in',
    'wake report: remote',
    'sleep left',
    'D0 awake after 300 ms',
  ]);
  assert.deepEqual([fleet.tally.wakes, fleet.tally.errors], [1, 0]);
  await pass(3100);
  assert.equal(fleet.tally.inStage('asleep'), 1, 'and it sleeps again');
  assert.equal(fleet.tally.errors, 0, 'what it closed itself is no trouble');
  fleet.stop();
});

test('a packet with another prefix wakes no device, and is reported', async () => {
  const { fleet, story, modules, pass } = stage(1);
  fleet.start();
  await pass(3500);
  modules[0]?.deliver('993b16f8f39c0000');
  await pass(1000);
  assert.equal(fleet.tally.inStage('asleep'), 1);
  assert.equal(story.at(-1), 'D0: not a wake packet: 993b16f8f39c0000');
  modules[0]?.deliver(wakePacket);
  await pass(400);
  assert.equal(fleet.tally.inStage('online'), 1, 'the next one does');
  fleet.stop();
});

test('logins start at the ramp rate, even when all devices are woken at once', async () => {
  const { fleet, story, modules, pass } = stage(100, 50);
  fleet.start();
  await pass(1000);
  const begun = story.filter((line) => line.endsWith('signs in')).length;
  assert.ok(begun >= 30 && begun <= 50, `${begun} of 50 a second, less what boots`);
  await pass(6000);
  assert.equal(fleet.tally.inStage('asleep'), 100);
  story.length = 0;
  for (const module of modules) module.deliver(wakePacket);
  await pass(1000);
  const again = story.filter((line) => line.endsWith('signs in')).length;
  assert.ok(again >= 30 && again <= 50, `${again} of 50 a second, less what boots`);
  fleet.stop();
});

test('at most one second of logins are pending', async () => {
  const { fleet, story, answers, pass } = stage(100, 10);
  answers.signal = new Promise(() => undefined);
  fleet.start();
  await pass(5000);
  assert.deepEqual([story.length, fleet.tally.inStage('signing-in')], [10, 10]);
  fleet.stop();
});

test('heartbeats are sent at the interval of the open connection', async () => {
  const { fleet, controllers, modules, clock, pass } = stage(1);
  fleet.start();
  await pass(3500);
  assert.equal(controllers[0]?.heartbeats, 0);
  clock.advance(49_700);
  assert.equal(modules[0]?.heartbeats, 0);
  clock.advance(200);
  assert.equal(modules[0]?.heartbeats, 1);
  clock.advance(100_000);
  assert.deepEqual([modules[0]?.heartbeats, fleet.tally.heartbeats], [3, 3]);
  fleet.stop();
  assert.equal(clock.pendingTimers, 0, 'and there was one timer for all');
});

test('refusals and broken connections are counted separately, and both are retried', async () => {
  const { fleet, story, answers, pass } = stage(1);
  answers.signal = new SignalRefused({ code: 4401, reason: 'denied' });
  fleet.start();
  await pass(400);
  assert.deepEqual([fleet.tally.refused, fleet.tally.errors], [1, 0]);
  answers.signal = new SignalRefused({ code: 1006, reason: '' });
  await pass(3000);
  assert.deepEqual([fleet.tally.refused, fleet.tally.errors], [1, 1]);
  answers.signal = null;
  answers.sleep = new LoginRefused('busy');
  await pass(12_000);
  assert.equal(fleet.tally.inStage('online') + fleet.tally.inStage('falling-asleep'), 1);
  assert.equal(fleet.tally.refused >= 2, true);
  assert.ok(story.includes('D0: the sleep server refused the login: busy'));
  fleet.stop();
});

test('a controller that loses its signal connection reconnects', async () => {
  const { fleet, story, controllers, pass } = stage(1);
  fleet.start();
  await pass(400);
  controllers[0]?.end({ code: 4410, reason: 'kicked' });
  await pass(3000);
  assert.deepEqual(story, [
    'D0 signs in',
    'D0: the signal connection was closed: 4410 kicked',
    'D0 signs in',
  ]);
  fleet.stop();
});

test('the late result of an abandoned attempt is closed without an event', async () => {
  const { fleet, story, answers, pass } = stage(1);
  let answer: (controller: DeviceController) => void = () => undefined;
  answers.signal = new Promise((resolve) => {
    answer = resolve;
  });
  fleet.start();
  await pass(15_500);
  assert.equal(fleet.tally.inStage('offline'), 1);
  answer(new FakeController(story));
  await pass(20);
  assert.deepEqual(story, ['D0 signs in', 'D0: signing in: no answer in time', 'signal left']);
  assert.deepEqual([fleet.tally.logins, fleet.tally.errors], [0, 1]);
  fleet.stop();
});

test('a sleeping device is picked, and none if none sleeps', async () => {
  const { fleet, pass } = stage(2);
  fleet.start();
  assert.equal(fleet.pickAsleep(), null);
  await pass(3600);
  assert.equal(fleet.pickAsleep(), 'D1');
  fleet.stop();
});

test('a stopped fleet closes its connections, starts nothing and reports no errors', async () => {
  const { fleet, story, clock, pass } = stage(2);
  fleet.start();
  await pass(3600);
  fleet.stop();
  await untilIdle();
  story.length = 0;
  await pass(60_000);
  assert.deepEqual([story, fleet.tally.errors, clock.pendingTimers], [[], 0, 0]);
});

/** A fleet of modules alone. */
function moduleStage(count: number, rampPerSecond = 1000) {
  return stage(count, rampPerSecond, moduleAlone('sleep:1', 15));
}

test('modules alone log in at the ramp rate', async () => {
  const { fleet, story, paces, pass } = moduleStage(100, 50);
  fleet.start();
  await pass(1000);
  assert.ok(story.length >= 48 && story.length <= 51, `${story.length} of 50 a second`);
  await pass(1100);
  assert.deepEqual([story.length, fleet.tally.inStage('asleep'), fleet.tally.sleepLogins], [100, 100, 100]);
  assert.ok(paces.every((seconds) => seconds === 15));
  assert.ok(story.every((line) => line.endsWith('logs into sleep:1')));
  fleet.stop();
});

test('modules alone send heartbeats within two ticks, and receive every packet', async () => {
  const { fleet, story, modules, clock, pass } = moduleStage(1);
  fleet.start();
  await pass(60);
  clock.advance(14_900);
  assert.equal(modules[0]?.heartbeats, 0);
  clock.advance(140);
  assert.equal(modules[0]?.heartbeats, 1);
  clock.advance(60_000);
  assert.deepEqual([modules[0]?.heartbeats, fleet.tally.heartbeats], [5, 5]);
  story.length = 0;
  for (const packet of [wakePacket, '983b16f8f39c12ab', '0000000000000000']) {
    modules[0]?.deliver(packet);
    await untilIdle();
  }
  assert.deepEqual(story, [
    `D0 hears ${wakePacket}`,
    'D0 hears 983b16f8f39c12ab',
    'D0 hears 0000000000000000',
  ]);
  assert.deepEqual([fleet.tally.wakes, fleet.tally.errors, fleet.tally.inStage('asleep')], [3, 0, 1]);
  fleet.stop();
});
