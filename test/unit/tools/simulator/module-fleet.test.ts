import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModuleFleet, type FleetModule } from '../../../../src/tools/simulator/module-fleet.ts';
import { LoginRefused, type SleepingModuleOptions } from '../../../../src/tools/simulator/sleeping-module.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

/** A module without a socket: the test sends its packets and ends it. */
class FakeModule implements FleetModule {
  heartbeats = 0;
  #settle: { readonly resolve: (packet: Buffer) => void; readonly reject: (error: Error) => void } | null =
    null;

  heartbeat(): void {
    this.heartbeats += 1;
  }

  nextPacket(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  close(): Promise<void> {
    this.end();
    return Promise.resolve();
  }

  deliver(packet: Buffer): void {
    this.#settle?.resolve(packet);
  }

  end(): void {
    this.#settle?.reject(new Error('gone'));
  }
}

/** What was settled has been seen by all who waited for it. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function stage(count: number, rampPerSecond = 1000) {
  const clock = new DrivenClock();
  const asked: SleepingModuleOptions[] = [];
  const modules: FakeModule[] = [];
  const wakes: string[] = [];
  const troubles: string[] = [];
  const answers: { refuse: string | null } = { refuse: null };
  const devices = Array.from({ length: count }, (_, i) => ({ deviceId: `D${i}`, secret: 's' }));
  const fleet = new ModuleFleet(
    devices,
    { wakeMode: 'fixed', heartbeatSeconds: 15, rampPerSecond },
    {
      clock,
      connect: (options) => {
        asked.push(options);
        if (answers.refuse !== null) return Promise.reject(new LoginRefused(answers.refuse));
        const module = new FakeModule();
        modules.push(module);
        return Promise.resolve(module);
      },
      addressOf: (number) => (number === 0 ? undefined : `127.0.0.${number}`),
      onWake: (deviceId, packet) => wakes.push(`${deviceId} ${packet.toString('hex')}`),
      onTrouble: (deviceId, error) => troubles.push(`${deviceId} ${error.message}`),
    },
  );
  return { clock, asked, modules, wakes, troubles, answers, fleet };
}

test('modules log in at the ramp and no faster', async () => {
  const { fleet, clock, asked } = stage(100, 50);
  fleet.start();
  assert.equal(asked.length, 5);
  clock.advance(1000);
  assert.equal(asked.length, 55);
  clock.advance(1000);
  assert.equal(asked.length, 100);
  await settled();
  assert.equal(fleet.tally.online, 100);
  await fleet.stop();
});

test('each says who it is and where it comes from', async () => {
  const { fleet, clock, asked } = stage(2);
  fleet.start();
  clock.advance(100);
  const common = { secret: 's', wakeMode: 'fixed', heartbeatSeconds: 15 };
  assert.deepEqual(asked, [
    { deviceId: 'D0', ...common },
    { deviceId: 'D1', ...common, localAddress: '127.0.0.1' },
  ]);
  await settled();
  await fleet.stop();
});

test('heartbeats are sent on time, within two ticks', async () => {
  const { fleet, clock, modules } = stage(1);
  fleet.start();
  await settled();
  clock.advance(14_900);
  assert.equal(modules[0]?.heartbeats, 0);
  clock.advance(300);
  assert.equal(modules[0]?.heartbeats, 1);
  clock.advance(60_000);
  assert.equal(modules[0]?.heartbeats, 5);
  assert.equal(fleet.tally.heartbeats, 5);
  await fleet.stop();
});

test('every wake packet is told', async () => {
  const { fleet, modules, wakes } = stage(1);
  fleet.start();
  await settled();
  modules[0]?.deliver(Buffer.from('983b16f8f39c0000', 'hex'));
  await settled();
  modules[0]?.deliver(Buffer.from('983b16f8f39c12ab', 'hex'));
  await settled();
  assert.deepEqual(wakes, ['D0 983b16f8f39c0000', 'D0 983b16f8f39c12ab']);
  assert.equal(fleet.tally.wakes, 2);
  await fleet.stop();
});

test('a module whose connection is gone comes back after 2 to 3 s', async () => {
  const { fleet, clock, asked, modules, troubles } = stage(1);
  fleet.start();
  await settled();
  modules[0]?.end();
  await settled();
  assert.deepEqual([fleet.tally.online, fleet.tally.errors], [0, 1]);
  assert.deepEqual(troubles, ['D0 gone']);
  clock.advance(1900);
  assert.equal(asked.length, 1);
  clock.advance(1400);
  assert.equal(asked.length, 2);
  await settled();
  assert.equal(fleet.tally.online, 1);
  await fleet.stop();
});

test('a refused login is counted, and tried again ever later', async () => {
  const { fleet, clock, asked, answers, troubles } = stage(1);
  answers.refuse = 'denied';
  fleet.start();
  await settled();
  clock.advance(3300);
  await settled();
  assert.deepEqual([asked.length, fleet.tally.refused, fleet.tally.errors], [2, 2, 0]);
  clock.advance(3300);
  assert.equal(asked.length, 2, 'the second wait is 4 s at least');
  assert.deepEqual(troubles, Array(2).fill('D0 the sleep server refused the login: denied'));
  await fleet.stop();
});

test('a fleet that was stopped logs nobody in and counts no end as a trouble', async () => {
  const { fleet, clock, asked, troubles } = stage(10, 10);
  fleet.start();
  const begun = asked.length;
  await fleet.stop();
  await settled();
  clock.advance(10_000);
  assert.equal(asked.length, begun);
  assert.deepEqual([fleet.tally.online, fleet.tally.logins, troubles.length], [0, 0, 0]);
  assert.equal(clock.pendingTimers, 0);
});
