import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { followEvents, type EventFeed, type FeedAnswer } from '../../../../src/cli/api/events-follow.ts';
import { OpsUnavailableError } from '../../../../src/cli/admin/ops-client.ts';
import type { WireEvent } from '../../../../src/gateways/admin/event-query.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

function wireEvent(seq: number): WireEvent {
  const at = '2026-11-20T08:30:00.123+00:00';
  return { id: `id-${seq}`, type: 'device.wakeup.expired', at, device_id: 'D', seq, epoch: null, data: {} };
}

function answerOf(next: number, overrides: Partial<FeedAnswer> = {}): FeedAnswer {
  return { events: [wireEvent(next)], next, head: next, before: null, truncated: false, ...overrides };
}

type Step = FeedAnswer | Error | null;

/** A server that does one thing after the other; after the last the follower is interrupted. Null: none runs. */
class Scene {
  readonly clock = new DrivenClock();
  readonly interruption = new AbortController();
  readonly asked: string[] = [];
  readonly shown: number[] = [];
  readonly remarks: string[] = [];
  /** Of the driven clock, when the server was looked for. */
  readonly lookedMs: number[] = [];
  readonly #steps: Step[];

  constructor(...steps: readonly Step[]) {
    this.#steps = [...steps];
  }

  connect(): EventFeed | null {
    this.lookedMs.push(this.clock.monotonicMs());
    const step = this.#steps.shift();
    if (step === undefined) this.interruption.abort();
    if (step === null) return null;
    if (step instanceof CommandError && !(step instanceof OpsUnavailableError)) throw step;
    return {
      ask: (query) => {
        this.asked.push(query.toString());
        return step instanceof Error ? Promise.reject(step) : Promise.resolve(step ?? answerOf(0));
      },
    };
  }

  show(events: readonly WireEvent[]): void {
    this.shown.push(...events.map(({ seq }) => seq));
  }

  remark(text: string): void {
    this.remarks.push(text);
  }

  /** Runs it to its end, and moves the clock whenever it waits. */
  async run(after = 0, filter = ''): Promise<void> {
    const state = { isOver: false };
    const following = followEvents(this, new URLSearchParams(filter), after, this.interruption.signal);
    void following.finally(() => (state.isOver = true)).catch(() => undefined);
    for (let turns = 0; !state.isOver; turns++) {
      assert.ok(turns < 1000, 'it does not end');
      await new Promise(setImmediate);
      if (this.clock.pendingTimers > 0) this.clock.advance(100);
    }
    await following;
  }
}

test('it asks on behind what it was shown, with its filter', async () => {
  const scene = new Scene(answerOf(5), answerOf(9));
  await scene.run(3, 'type=device.*&type=call.*&device_id=a+b');
  const kept = 'type=device.*&type=call.*&device_id=a+b';
  assert.deepEqual(scene.asked.slice(0, 2), [
    `${kept}&after=3&limit=1000&wait=10`,
    `${kept}&after=5&limit=1000&wait=10`,
  ]);
  assert.deepEqual([scene.shown, scene.remarks, scene.lookedMs[1]], [[5, 9], [], 0]);
});

test('a restart is said once and back again, and nothing is asked for twice or left out', async () => {
  const starting = new CommandError('the server (process 7) is starting or stopping');
  const scene = new Scene(
    answerOf(5),
    new OpsUnavailableError('socket hang up'),
    null,
    null,
    starting,
    answerOf(6),
  );
  await scene.run(4);
  assert.deepEqual(scene.shown, [5, 6]);
  assert.deepEqual(
    scene.asked.map((query) => query.slice(0, 7)),
    ['after=4', 'after=5', 'after=5', 'after=6'],
  );
  assert.deepEqual(scene.remarks, ['socket hang up; following on when one is back', 'the server is back']);
  const [, failedMs = 0, ...laterMs] = scene.lookedMs;
  assert.deepEqual(
    laterMs.slice(0, 4),
    [1000, 2000, 3000, 4000].map((ms) => failedMs + ms),
  );
});

test('without a server it waits for one', async () => {
  const scene = new Scene(null, answerOf(1));
  await scene.run();
  assert.deepEqual(scene.remarks, [
    'no server is running here; following on when one is back',
    'the server is back',
  ]);
});

test('a draining server is said once, shows what it still has, and is not asked in a circle', async () => {
  const idle = answerOf(5, { events: [], draining: true });
  const scene = new Scene(answerOf(5, { draining: true }), idle, idle, null, answerOf(6));
  await scene.run();
  assert.deepEqual(scene.lookedMs.slice(0, 5), [0, 0, 1000, 2000, 3000]);
  assert.deepEqual(scene.shown, [5, 6]);
  assert.deepEqual(scene.remarks, [
    'the server is stopping; following on when one is back',
    'the server is back',
  ]);
});

test('what was forgotten in between is said', async () => {
  const scene = new Scene(answerOf(50, { truncated: true }));
  await scene.run(3);
  assert.deepEqual([scene.shown, scene.remarks], [[50], ['some events in between are not kept any more']]);
});

test('what the server refuses ends it', async () => {
  const scene = new Scene(answerOf(1));
  scene.connect = () => ({ ask: () => Promise.reject(new CommandError('type: there is none')) });
  await assert.rejects(scene.run(), /type: there is none/);
});

test('an interruption while it waits ends it at once, and its answer is not shown', async () => {
  const scene = new Scene();
  let given: AbortSignal | undefined;
  scene.connect = () => ({
    ask: (_query, signal) =>
      new Promise((resolve) => {
        given = signal;
        signal.addEventListener('abort', () => resolve(answerOf(8)));
      }),
  });
  const running = scene.run();
  await new Promise(setImmediate);
  scene.interruption.abort();
  await running;
  assert.equal(given, scene.interruption.signal);
  assert.deepEqual([scene.shown, scene.clock.pendingTimers], [[], 0]);
});
