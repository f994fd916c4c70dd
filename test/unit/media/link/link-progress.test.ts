/** One end of the link is in a long turn of its event loop: its timers do not run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../../../src/lib/clock.ts';
import { MediaEnd } from '../../../../src/media/link/media-end.ts';
import { LoopProgress } from '../../../../src/lib/loop-progress.ts';
import { linkHeartbeatMs, linkSilenceMsMax } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { DuplexPair } from '../../../support/duplex-pair.ts';
import { LegServiceScene } from '../../../support/leg-service-scene.ts';
import { openServerEnd } from '../../../support/linked-leg-service.ts';
import { nextTurn } from '../../../../src/lib/clock.ts';

/** Time passes, and no timer runs. */
class StalledClock implements Clock {
  nowMs = 0;
  readonly monotonicMs = (): number => this.nowMs;
  readonly wallMs = this.monotonicMs;
  readonly after = () => () => undefined;
  readonly every = this.after;
}

class ProgressScene {
  readonly stalled = new StalledClock();
  readonly driven = new DrivenClock();
  readonly ends: string[] = [];
  /** Work of the end that is busy. */
  readonly work: () => void;

  constructor(busy: 'server' | 'media') {
    const [here, there] = busy === 'server' ? [this.stalled, this.driven] : [this.driven, this.stalled];
    const pair = new DuplexPair();
    const progress = new LoopProgress(here);
    const onEnd = (fault: string | null): void => void this.ends.push(String(fault));
    openServerEnd(pair.here, new LegServiceScene(), { clock: here, progress, onEnd });
    const media = new MediaEnd({ clock: there, onEnd });
    media.attach(pair.there);
    const { telemetry } = media;
    this.work = busy === 'server' ? progress.advance : () => telemetry.mediaFrames('encoded', 1);
  }

  async pass(ms: number, work: () => void): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += linkHeartbeatMs) {
      for (let turns = 0; turns < 6; turns += 1) await nextTurn();
      this.stalled.nowMs += linkHeartbeatMs;
      work();
      this.driven.advance(linkHeartbeatMs);
    }
  }
}

for (const busy of ['server', 'media'] as const) {
  test(`the link stays while the ${busy} end makes progress in one turn`, async () => {
    const scene = new ProgressScene(busy);
    await scene.pass(4 * linkSilenceMsMax, scene.work);
    assert.deepEqual(scene.ends, []);
  });

  test(`the link is cut when the ${busy} end makes no progress`, async () => {
    const scene = new ProgressScene(busy);
    await scene.pass(4 * linkSilenceMsMax, () => undefined);
    assert.match(scene.ends[0] ?? '', /was silent for 5000 ms/);
  });
}
