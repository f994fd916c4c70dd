/** Random walks over the sleep machine against a naive model that keeps every connection it ever saw. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { offline, reduceSleep, type SleepState } from '../../src/device/sleep-session.ts';
import { neverConnected } from '../../src/domain/connectivity.ts';
import type { SessionId } from '../../src/domain/ids.ts';

type Step = { kind: 'login' | 'end-current' | 'end-stale' | 'expel' | 'beat' | 'note'; at: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('login', 'end-current', 'end-stale', 'expel', 'beat', 'note'),
  // Wall time may step either way.
  at: fc.integer({ min: 1, max: 1000 }),
});

class NaiveModel {
  epoch = 0;
  open = false;
  login: number | null = null;
  heartbeat: number | null = null;
  offline: number | null = null;
  ends = 0;
  /** Of the live connection; 0: none yet. */
  beat = 0;

  apply({ kind, at }: Step): void {
    if (kind === 'login') {
      this.#hear();
      this.epoch += 1;
      this.open = true;
      this.login = at;
      this.beat = 0;
    } else if (this.open && kind === 'beat') this.beat = at;
    else if (this.open && kind === 'note') this.#hear();
    else if (this.open && (kind === 'end-current' || kind === 'expel')) {
      this.#hear();
      this.open = false;
      this.offline = at;
      this.ends += 1;
    }
  }

  #hear(): void {
    if (this.open && this.beat !== 0) this.heartbeat = this.beat;
  }
}

function isAsleep(state: SleepState): boolean {
  return state.kind === 'asleep';
}

test('the machine agrees with a naive model on every walk', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = new NaiveModel();
      let state: SleepState = offline(neverConnected);
      let ends = 0;
      for (const taken of steps) {
        const heartbeatAt = model.open ? model.beat : 0;
        const { epoch } = state.record;
        const wasAsleep = isAsleep(state);
        switch (taken.kind) {
          case 'login':
            state = reduceSleep(state, {
              kind: 'login',
              sessionId: `s${epoch + 1}` as SessionId,
              wakeMode: 'fixed',
              at: taken.at,
              heartbeatAt,
            }).state;
            break;
          case 'end-current':
            state = reduceSleep(state, { kind: 'ended', epoch, at: taken.at, heartbeatAt }).state;
            break;
          case 'end-stale':
            state = reduceSleep(state, {
              kind: 'ended',
              epoch: epoch - 1,
              at: taken.at,
              heartbeatAt: 7,
            }).state;
            break;
          case 'expel':
            state = reduceSleep(state, { kind: 'expel', reason: 'kicked', at: taken.at, heartbeatAt }).state;
            break;
          case 'note':
            state = reduceSleep(state, { kind: 'note-heartbeat', heartbeatAt }).state;
            break;
          case 'beat':
            break;
        }
        if (wasAsleep && !isAsleep(state)) ends += 1;
        model.apply(taken);
        assert.equal(isAsleep(state), model.open);
        assert.equal(ends, model.ends);
        assert.deepEqual(state.record, {
          epoch: model.epoch,
          lastLoginAt: model.login,
          lastHeartbeatAt: model.heartbeat,
          lastOfflineAt: model.offline,
          openSession: model.open ? `s${model.epoch}` : null,
        });
      }
    }),
    { numRuns: 2000 },
  );
});
