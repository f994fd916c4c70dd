/** The counts of a media process on their way to its server, which adds them up. Source: calls-and-media.md, The media process. */
import { linkTallyItemsMax } from '../../model/limits.ts';
import type { Tally } from '../../protocol/media-link/link-message.ts';
import type { LegRefusal } from '../../model/call.ts';
import type { MediaFrameResult } from '../../model/media/picture.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';

/** Adds up counts until they are sent over the link. */
export class TelemetryBatch implements MediaTelemetry {
  readonly #send: (tally: Tally) => void;
  readonly #counted: () => void;
  readonly #logins = new Map<'accepted' | LegRefusal, number>();
  readonly #frames = new Map<MediaFrameResult, number>();
  #frameSeconds: number[] = [];
  #loginCount = 0;
  #rebuilds = 0;

  constructor(send: (tally: Tally) => void, counted: () => void) {
    this.#send = send;
    this.#counted = counted;
  }

  mediaLogin(result: 'accepted' | LegRefusal): void {
    this.#logins.set(result, (this.#logins.get(result) ?? 0) + 1);
    this.#loginCount += 1;
    this.#counted();
    this.#flushIfFull();
  }

  mediaFrames(result: MediaFrameResult, count = 1): void {
    this.#frames.set(result, (this.#frames.get(result) ?? 0) + count);
    this.#counted();
  }

  mediaRebuilds(count: number): void {
    this.#rebuilds += count;
  }

  mediaFrameTime(seconds: number): void {
    this.#frameSeconds.push(seconds);
    this.#flushIfFull();
  }

  flush(): void {
    if (this.#isEmpty) return;
    this.#send({
      logins: [...this.#logins],
      frames: [...this.#frames],
      rebuilds: this.#rebuilds,
      frameSeconds: this.#frameSeconds,
    });
    this.#logins.clear();
    this.#frames.clear();
    this.#frameSeconds = [];
    this.#loginCount = 0;
    this.#rebuilds = 0;
  }

  get #isEmpty(): boolean {
    const counted = this.#loginCount + this.#frames.size + this.#rebuilds + this.#frameSeconds.length;
    return counted === 0;
  }

  #flushIfFull(): void {
    if (this.#loginCount >= linkTallyItemsMax || this.#frameSeconds.length >= linkTallyItemsMax) this.flush();
  }
}

export function applyTally(
  telemetry: MediaTelemetry,
  { logins, frames, rebuilds, frameSeconds }: Tally,
): void {
  for (const [result, count] of logins) for (let n = 0; n < count; n += 1) telemetry.mediaLogin(result);
  for (const [result, count] of frames) telemetry.mediaFrames(result, count);
  if (rebuilds > 0) telemetry.mediaRebuilds(rebuilds);
  for (const seconds of frameSeconds) telemetry.mediaFrameTime(seconds);
}
