import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leftLeaseMs, renewedLeaseMs, wholeLeaseMs } from '../../../../src/model/state/call-lease.ts';
import { liveCallStates, type LiveCallState } from '../../../../src/model/call.ts';
import { callSession } from '../../../support/call-scene.ts';

const wholeSeconds = { issued: 100, establishing: 35, ringing: 45, attempting: 45, connected: 60 };
/** Seconds of the lease that a frame and a ping begin; null: they begin none. */
const renewals: Record<LiveCallState, { readonly media: number | null; readonly ping: number | null }> = {
  issued: { media: null, ping: null },
  establishing: { media: 35, ping: null },
  ringing: { media: null, ping: null },
  attempting: { media: null, ping: null },
  connected: { media: 60, ping: 60 },
};

for (const state of liveCallStates) {
  test(`the lease of ${state} is ${wholeSeconds[state]} s with a ring timeout of 40 s`, () => {
    assert.equal(wholeLeaseMs(callSession({ state })), wholeSeconds[state] * 1000);
  });

  for (const by of ['media', 'ping'] as const)
    test(`${by} in ${state}: ${renewals[state][by] ?? 'nothing'}`, () => {
      const leaseMs = renewedLeaseMs(callSession({ state }), by);
      assert.equal(leaseMs === null ? null : leaseMs / 1000, renewals[state][by]);
    });
}

const ages = [
  { what: 'just now', agoMs: 0, leftMs: 45_000 },
  { what: '44.999 s ago', agoMs: 44_999, leftMs: 1 },
  { what: '45 s ago', agoMs: 45_000, leftMs: 0 },
  { what: 'a day ago', agoMs: 86_400_000, leftMs: 0 },
  { what: 'an hour from now, for the wall clock stepped back', agoMs: -3_600_000, leftMs: 45_000 },
];
for (const { what, agoMs, leftMs } of ages)
  for (const state of ['ringing', 'attempting'] as const)
    test(`a call found ${state} that began to ring ${what} has ${leftMs} ms left`, () => {
      const session = callSession({ state, ringsFromMs: 2_000_000 });
      assert.equal(leftLeaseMs(session, 2_000_000 + agoMs), leftMs);
    });

const expiries = [
  { inMs: 100_000, leftMs: 100_000 },
  { inMs: 1, leftMs: 1 },
  { inMs: 0, leftMs: 0 },
  { inMs: -5000, leftMs: 0 },
  { inMs: 7_200_000, leftMs: 100_000 },
];
for (const { inMs, leftMs } of expiries)
  test(`a session found issued that expires in ${inMs} ms has ${leftMs} ms left`, () => {
    assert.equal(leftLeaseMs(callSession({ expiresAtMs: 2_000_000 + inMs }), 2_000_000), leftMs);
  });

for (const state of ['establishing', 'connected'] as const)
  test(`a call found ${state} has its whole lease, whatever the wall clock says`, () => {
    assert.equal(leftLeaseMs(callSession({ state, ringsFromMs: 1 }), 9e12), wholeSeconds[state] * 1000);
  });
