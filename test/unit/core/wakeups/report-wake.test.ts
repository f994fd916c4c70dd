import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionId } from '../../../../src/model/ids.ts';
import { wakeReportHopMs } from '../../../../src/model/limits.ts';
import type { PeerNotice } from '../../../../src/protocol/cluster/peer-message.ts';
import type { WakeReport } from '../../../../src/model/signal.ts';
import { noPeers } from '../../../../src/core/ports/peers.ts';
import { reportWake } from '../../../../src/core/wakeups/wakeup-watch.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testDevice } from '../../../support/fakes.ts';

const session = 'session-1' as SessionId;
const report: WakeReport = { cause: 'remote', requestId: null };

function scene(): { clock: DrivenClock; here: unknown[][]; told: [string, PeerNotice][] } {
  return { clock: new DrivenClock(), here: [], told: [] };
}

test('a report is applied here at once, and sent to the others after they have learned of the login', () => {
  const { clock, here, told } = scene();
  const watch = { reported: (...said: unknown[]) => void here.push(said) };
  const peers = { notify: (to: string, notice: PeerNotice) => void told.push([to, notice]) };
  reportWake({ clock, watch, peers }, testDevice, session, report);
  assert.deepEqual(here, [[testDevice, session, report]]);
  clock.advance(wakeReportHopMs - 1);
  assert.deepEqual(told, []);
  clock.advance(1);
  assert.deepEqual(told, [['everybody', { kind: 'wake-reported', deviceId: testDevice, session, report }]]);
});

test('on a standalone server a report is applied locally only', () => {
  const { clock, here } = scene();
  const watch = { reported: (...said: unknown[]) => void here.push(said) };
  reportWake({ clock, watch, peers: noPeers }, testDevice, session, report);
  clock.advance(wakeReportHopMs);
  assert.equal(here.length, 1);
});
