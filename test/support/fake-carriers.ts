/** Media processes that a test starts, speaks for and kills: their links are real, and time is the test's. */
import type { Clock } from '../../src/lib/clock.ts';
import { MediaEnd, type MediaProcess } from '../../src/media/link/media-end.ts';
import type { MediaProcessSettings } from '../../src/protocol/media-link/media-values.ts';
import type { MediaCarrier } from '../../src/server/supervisor/media-child.ts';
import { DuplexPair } from './duplex-pair.ts';
import { mediaCounts } from './linked-leg-service.ts';

export class FakeCarrier implements MediaCarrier {
  readonly link: MediaCarrier['link'];
  readonly pid: number;
  readonly ended: Promise<string>;
  readonly end: MediaEnd;
  /** What it was told to do, and how it was ended. */
  readonly asked: string[] = [];
  /** It does not end by itself when its link does, nor drain. */
  isStuck = false;
  settings: MediaProcessSettings | null = null;
  readonly #pair = new DuplexPair();
  #resolve: (how: string) => void = () => undefined;

  constructor(clock: Clock, pid: number) {
    this.pid = pid;
    this.link = this.#pair.here;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
    this.end = new MediaEnd(this.#pair.there, {
      clock,
      instance: `media ${pid}`,
      onEnd: () => {
        if (!this.isStuck) this.#resolve('exit code 0');
      },
    });
    void this.end.started().then(
      (settings) => (this.settings = settings),
      () => undefined,
    );
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
  }

  fail(sentence: string): void {
    this.end.failed(sentence);
    void this.end.end();
  }

  die(how: string): void {
    this.#resolve(how);
    this.#pair.there.destroy();
  }

  kill(): void {
    this.asked.push('killed');
    this.die('SIGKILL');
  }
}
