/** Media processes that a test starts, speaks for and kills: their streams are real, and time is the test's. */
import { ParentEnd } from '../../src/lib/children/parent-end.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { MediaEnd, type MediaProcess } from '../../src/media/link/media-end.ts';
import type { MediaChildKind, MediaProcessSettings } from '../../src/protocol/media-link/media-values.ts';
import type { MediaCarrier } from '../../src/server/children/media-child.ts';
import { DuplexPair } from './duplex-pair.ts';
import { mediaCounts } from './linked-leg-service.ts';

export class FakeCarrier implements MediaCarrier {
  readonly link: MediaCarrier['link'];
  readonly channel: MediaCarrier['channel'];
  readonly pid: number;
  readonly ended: Promise<string>;
  readonly end: MediaEnd;
  /** What it was told to do, and how it was ended. */
  readonly asked: string[] = [];
  /** It does not end by itself when its link does, nor drain. */
  isStuck = false;
  settings: MediaProcessSettings | null = null;
  readonly #pair = new DuplexPair();
  readonly #channels = new DuplexPair();
  readonly #parent: ParentEnd<MediaChildKind>;
  #isGone = false;
  #resolve: (how: string) => void = () => undefined;

  constructor(clock: Clock, pid: number) {
    this.pid = pid;
    this.link = this.#pair.here;
    this.channel = this.#channels.here;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
    this.end = new MediaEnd(this.#pair.there, {
      clock,
      instance: `media ${pid}`,
      onEnd: () => {
        if (!this.isStuck) this.die('exit code 0');
      },
    });
    this.#parent = new ParentEnd(this.#channels.there, {
      clock,
      release: '1.2.3',
      progress: new LoopProgress(clock),
      ordered: () => undefined,
      stop: () => undefined,
      alone: () => undefined,
    });
    void this.#parent.begun.then((settings) => (this.settings = settings));
  }

  listen(port: number, host = '127.0.0.1', advertise: string | null = null): void {
    const process: MediaProcess = {
      advertise,
      reloadTls: () => {
        this.asked.push('reload TLS');
        return null;
      },
      drain: () => {
        this.asked.push('drain');
        return this.isStuck ? new Promise(() => undefined) : Promise.resolve();
      },
      view: () => null,
      counts: () => mediaCounts,
    };
    this.end.ready({ host, port }, process);
    this.#parent.ready({ port });
  }

  fail(sentence: string): void {
    void this.#parent.failed(sentence);
  }

  die(how: string): void {
    this.#isGone = true;
    this.#resolve(how);
    for (const { there } of [this.#pair, this.#channels]) there.destroy();
  }

  kill(): void {
    if (this.#isGone) return;
    this.asked.push('killed');
    this.die('SIGKILL');
  }
}
