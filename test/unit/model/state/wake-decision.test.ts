import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canWake } from '../../../../src/model/state/wake-decision.ts';

const wakes = [
  { mode: 'fixed', carriesCustomData: false, answer: true },
  { mode: 'fixed', carriesCustomData: true, answer: false },
  { mode: 'custom', carriesCustomData: false, answer: true },
  { mode: 'custom', carriesCustomData: true, answer: true },
  { mode: 'none', carriesCustomData: false, answer: false },
  { mode: 'none', carriesCustomData: true, answer: false },
] as const;
for (const { mode, carriesCustomData, answer } of wakes)
  test(`a ${mode} module ${answer ? 'can' : 'cannot'} be woken ${carriesCustomData ? 'with' : 'without'} custom data`, () => {
    assert.equal(canWake(mode, carriesCustomData), answer);
  });
