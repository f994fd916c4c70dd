/**
 * A transcoder pool on scripted threads: a gate holds their frames, the clock is driven, and logs and notifications are
 * recorded.
 */
import assert from 'node:assert/strict';
import type { FrameResult } from '../../src/model/media/picture.ts';
import type { Transcoder } from '../../src/media/transcoding/transcoder-session.ts';
import { TranscoderPool, type TranscoderPoolOptions } from '../../src/media/transcoding/transcoder-pool.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLog } from './fakes.ts';
import { Gate } from './gate.ts';
import { scriptedFrame, type FrameScript } from './frame-script.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

/** By the first estimate this needs a tenth of a thread's time. */
export const tenth = { request: { width: 640, height: 480 }, maxFps: 1000 / 13 };

const shapes = [{ mode: 'fit_screen', screen: { width: 320, height: 240 } }] as const;

export class TranscoderScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly gate = new Gate();
  readonly wedged: string[] = [];
  #pool: TranscoderPool | null = null;

  get pool(): TranscoderPool {
    return this.#pool ?? assert.fail('the pool is open');
  }

  async open(overrides: Partial<TranscoderPoolOptions> = {}): Promise<void> {
    this.#pool = new TranscoderPool({
      threads: 1,
      loadMax: 0.85,
      quality: 80,
      maxFps: 15,
      sourceMax: { width: 1920, height: 1080 },
      clock: this.clock,
      log: this.log,
      onWedged: (sentence) => this.wedged.push(sentence),
      workerFile: moduleBeside('scripted-transcoder', import.meta.url),
      ...overrides,
    });
    await this.#pool.start();
  }

  session(need = tenth): Transcoder {
    const opened = this.pool.open(need);
    return opened.ok ? opened.value : assert.fail(opened.error);
  }

  sessions(count: number): Transcoder[] {
    return Array.from({ length: count }, () => this.session());
  }

  /** Sends each transcoder two frames per second of the clock, `workMs` each. */
  async send(transcoders: readonly Transcoder[], seconds: number, workMs: number): Promise<void> {
    for (let half = 0; half < seconds * 2; half++) {
      await Promise.all(transcoders.map((transcoder) => transcode(transcoder, { workMs })));
      this.clock.advance(500);
    }
  }

  errors(): string[] {
    return this.log.lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  }

  async close(): Promise<void> {
    await this.#pool?.close();
    this.gate.close();
  }
}

export function transcode(transcoder: Transcoder, script: FrameScript = {}): Promise<FrameResult> {
  const frame = scriptedFrame(script);
  return transcoder.transcode(frame, shapes, describeFrame(frame));
}

export function transcodeHeld(transcoder: Transcoder): Promise<FrameResult> {
  return transcode(transcoder, { isHeld: true });
}

/** `session.frames` of the only picture, or the drop reason. */
export function textOf({ pictures, drop }: FrameResult): string | null {
  const [picture] = pictures;
  return picture === undefined || typeof picture === 'string' ? drop : Buffer.from(picture.bytes).toString();
}
