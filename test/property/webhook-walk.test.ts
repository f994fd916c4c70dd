/**
 * Random walks: events of a few devices, good and bad answers, passing time, crashes between any two turns. An attempt never
 * begins before each earlier event of its device was delivered or has failed twice, and at the end every event was delivered or
 * is parked. A failure prints its seed and path: pass both to `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bad, good, hookUrl, WebhookScene } from '../support/webhook-scene.ts';

/** `which`: index among the pending attempts. */
type Step =
  | { readonly what: 'event'; readonly device: string }
  | { readonly what: 'answer'; readonly which: number; readonly isGood: boolean }
  | { readonly what: 'time'; readonly ms: number }
  | { readonly what: 'crash' };

const device = fc.constantFrom('a', 'a', 'a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('event'), device }) },
  {
    weight: 10,
    arbitrary: fc.record({ what: fc.constant('answer'), which: fc.nat(2), isGood: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('time'), ms: fc.constantFrom(10, 60, 1200, 15_000) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('crash') }) },
);

/** Small limits, so that walks reach each of them. */
const limits = {
  windowEventsMax: 4,
  attemptsPerHookMax: 3,
  failedPerHookMax: 6,
  circuitFailures: 4,
  retryDelaysMs: [1000, 10_000],
};

/** Situations that all walks together have reached: a walk that reaches none proves nothing. */
const met = { crashes: 0, circuits: 0, parked: 0, held: 0, again: 0 };

class Walk {
  scene = new WebhookScene({ limits });
  readonly #delivered = new Set<number>();
  readonly #failures = new Map<number, number>();
  readonly #devices = new Map<number, string>();
  #judgedSends = 0;

  async runStep(step: Step): Promise<void> {
    if (step.what === 'event') await this.#happen(step.device);
    if (step.what === 'answer') await this.#answer(step.which, step.isGood);
    if (step.what === 'time') await this.scene.pass(step.ms);
    if (step.what === 'crash') await this.#crash();
    this.#judge();
  }

  /** The endpoint works from now on. */
  async heal(): Promise<void> {
    while (this.scene.underWay.length > 0) await this.runStep({ what: 'answer', which: 0, isGood: true });
    for (let turn = 0; turn < 60; turn++) {
      await this.runStep({ what: 'time', ms: 15_000 });
      while (this.scene.underWay.length > 0) await this.runStep({ what: 'answer', which: 0, isGood: true });
    }
  }

  lostEvents(): number[] {
    const shown = this.scene.service.show({ url: hookUrl, appId: null }, 0, 1000);
    assert.ok(shown.ok);
    const parked = new Set(shown.value.parked.map(({ sequence }) => sequence));
    met.parked += parked.size;
    return Array.from(this.#devices.keys()).filter(
      (sequence) => !this.#delivered.has(sequence) && !parked.has(sequence),
    );
  }

  async #happen(device: string): Promise<void> {
    this.#devices.set(this.scene.events.head + 1, device);
    await this.scene.happen(device);
  }

  async #answer(which: number, isGood: boolean): Promise<void> {
    const { underWay } = this.scene;
    const sequence = underWay[which % underWay.length];
    if (sequence === undefined) return;
    if (isGood) this.#delivered.add(sequence);
    else this.#failures.set(sequence, (this.#failures.get(sequence) ?? 0) + 1);
    await this.scene.answer(sequence, isGood ? good : bad);
  }

  async #crash(): Promise<void> {
    met.crashes += 1;
    this.#judge();
    this.scene = this.scene.crash({ limits });
    this.#judgedSends = 0;
    await this.scene.quiet();
  }

  #judge(): void {
    const hook = this.scene.hook();
    if (hook.isCircuitOpen) met.circuits += 1;
    assert.ok(hook.inFlight <= limits.attemptsPerHookMax && hook.failed <= limits.failedPerHookMax);
    for (const { sequence, deviceId } of this.scene.sender.sent.slice(this.#judgedSends)) {
      if (this.#delivered.has(sequence)) met.again += 1;
      const early = this.#unsettledBefore(sequence, deviceId);
      assert.deepEqual(early, [], `${sequence} of ${deviceId} was tried before earlier events of it`);
    }
    this.#judgedSends = this.scene.sender.sent.length;
    const { underWay } = this.scene;
    assert.equal(new Set(underWay).size, underWay.length, 'an event has one attempt at a time');
    if (hook.failed > this.#waitingForRetry()) met.held += 1;
  }

  #unsettledBefore(sequence: number, device: string): number[] {
    return Array.from(this.#devices)
      .filter(([earlier, of]) => of === device && earlier < sequence)
      .map(([earlier]) => earlier)
      .filter((earlier) => !this.#delivered.has(earlier) && (this.#failures.get(earlier) ?? 0) < 2);
  }

  #waitingForRetry(): number {
    return Array.from(this.#failures.keys()).filter((sequence) => !this.#delivered.has(sequence)).length;
  }
}

test('no walk loses an event, or attempts one too early', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 120 }), async (steps) => {
      const walk = new Walk();
      for (const step of steps) await walk.runStep(step);
      await walk.heal();
      assert.deepEqual(walk.lostEvents(), []);
    }),
    { numRuns: 1000 },
  );
  for (const [what, times] of Object.entries(met)) assert.ok(times > 0, `no walk met ${what}`);
});
