import assert from 'node:assert/strict';
import { test } from 'node:test';
import { follow, retryMs, type Shown } from '../../../../src/cli/admin/follow.ts';
import { OpsUnavailableError } from '../../../../src/cli/admin/ops-refusal.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

type Answer = Shown<number>;

function answerOf(next: number, overrides: Partial<Answer> = {}): Answer {
  return { next, pauseMs: 0, isStopping: false, ...overrides };
}

/** A server that gives the answers in order and then interrupts the follower. */
class Scene {
  readonly clock = new DrivenClock();
  readonly interruption = new AbortController();
  readonly asked: number[] = [];
  readonly shown: number[] = [];
  readonly remarks: string[] = [];
  /** Times on the driven clock at which the server was asked. */
  readonly askedMs: number[] = [];
  readonly #answers: (Answer | Error)[];

  constructor(...answers: readonly (Answer | Error)[]) {
    this.#answers = [...answers];
  }

  async ask(behind: number, _signal: AbortSignal): Promise<Answer> {
    this.asked.push(behind);
    this.askedMs.push(this.clock.monotonicMs());
    const answer = this.#answers.shift() ?? answerOf(0);
    if (answer instanceof Error) throw answer;
    return answer;
  }

  show(answer: Answer): Answer {
    this.shown.push(answer.next);
    if (this.#answers.length === 0) this.interruption.abort();
    return answer;
  }

  remark(text: string): void {
    this.remarks.push(text);
  }

  /** Runs the follower to its end, and advances the clock whenever it waits. */
  async run(after = 0): Promise<void> {
    const state = { isOver: false };
    const { clock, interruption } = this;
    const followed = {
      clock,
      ask: (behind: number, signal: AbortSignal) => this.ask(behind, signal),
      show: (answer: Answer) => this.show(answer),
      remark: (text: string) => this.remark(text),
    };
    const following = follow(followed, after, interruption.signal);
    void following.finally(() => (state.isOver = true)).catch(() => undefined);
    for (let turns = 0; !state.isOver; turns++) {
      assert.ok(turns < 1000, 'it does not end');
      await new Promise(setImmediate);
      if (clock.pendingTimers > 0) clock.advance(100);
    }
    await following;
  }
}

test('each request continues after the previous answer, at once or after the pause it names', async () => {
  const scene = new Scene(answerOf(5), answerOf(9, { pauseMs: 300 }), answerOf(10));
  await scene.run(3);
  assert.deepEqual(
    [scene.asked, scene.askedMs],
    [
      [3, 5, 9],
      [0, 0, 300],
    ],
  );
  assert.deepEqual([scene.shown, scene.remarks], [[5, 9, 10], []]);
});

test('a restart is reported once, and so is its end; no entry is repeated or lost', async () => {
  const [gone, none] = [new OpsUnavailableError('socket hang up'), new OpsUnavailableError('no server runs')];
  const scene = new Scene(answerOf(5), gone, none, none, answerOf(6));
  await scene.run(4);
  assert.deepEqual(
    [scene.asked, scene.shown],
    [
      [4, 5, 5, 5, 5],
      [5, 6],
    ],
  );
  assert.deepEqual(scene.askedMs, [0, 0, retryMs, 2 * retryMs, 3 * retryMs]);
  assert.deepEqual(scene.remarks, [
    'socket hang up; will continue when the server is back',
    'the server is back',
  ]);
});

test('a stopping server is reported once, and its last entries are shown', async () => {
  const idle = answerOf(5, { isStopping: true, pauseMs: retryMs });
  const scene = new Scene(answerOf(5, { isStopping: true }), idle, idle, answerOf(6));
  await scene.run();
  assert.deepEqual(scene.askedMs, [0, 0, retryMs, 2 * retryMs]);
  assert.deepEqual(scene.remarks, [
    'the server is stopping; will continue when the server is back',
    'the server is back',
  ]);
});

test('a refusal by the server ends the follower', async () => {
  const scene = new Scene(answerOf(1), new CommandError('type: there is none'));
  await assert.rejects(scene.run(), /type: there is none/);
});

test('an interruption during a request ends the follower at once, without its answer', async () => {
  const scene = new Scene();
  let given: AbortSignal | undefined;
  scene.ask = (_behind, signal) =>
    new Promise((resolve) => {
      given = signal;
      signal.addEventListener('abort', () => resolve(answerOf(8)));
    });
  const running = scene.run();
  await new Promise(setImmediate);
  scene.interruption.abort();
  await running;
  assert.equal(given, scene.interruption.signal);
  assert.deepEqual([scene.shown, scene.clock.pendingTimers], [[], 0]);
});
