/**
 * One end of the link on its stream: messages both ways, beats, and the end, whoever brings it about. What the messages
 * mean is its owner's. Lifecycle: open -> ending -> ended. Everything that comes to pass inside of `send` shows later,
 * so that it can be called from anywhere. Source: calls-and-media.md, The media process.
 */
import { finished, type Duplex } from 'node:stream';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import {
  linkBacklogBytesMax,
  linkHeartbeatMs,
  linkCongestedBytes,
  linkSilenceMsMax,
  mediaStartMsMax,
} from '../../model/limits.ts';
import { encodeLinkFrame } from '../../protocol/media-link/link-frame.ts';
import { LinkReader } from '../../protocol/media-link/link-reader.ts';

export interface LinkOwner<Received> {
  readonly clock: Clock;
  /** Begins the sentences about it. */
  readonly peer: 'the server' | 'the media process';
  /** It says hello, and then waits for that of the peer as long as it takes, without a beat. */
  readonly isSpare?: boolean | undefined;
  read(value: unknown): Result<Received, string>;
  /** What is wrong with it at this moment, as the end of a sentence about the peer, which cuts the link; null: nothing. */
  received(message: Received): string | null;
  /** Each `linkBeatMs` while it is open. */
  heartbeat(): void;
  /** What waited to be sent has gone. */
  drained?(): void;
  /** Once. `fault`: a sentence; null: one of the two hung up in order. */
  ended(fault: string | null): void;
}

type Stage = 'open' | 'ending' | 'ended';

export class Link<Sent extends object, Received> {
  readonly #stream: Duplex;
  readonly #owner: LinkOwner<Received>;
  readonly #reader: LinkReader<Received>;
  readonly #stopHeartbeats: Cancel;
  readonly #whenEnded: Promise<void>;
  #stage: Stage = 'open';
  #fault: string | null = null;
  /** Beats since the last message came: by our own time, which stands still when this process does. */
  #silentHeartbeats = 0;
  #isHeartbeatDue = false;
  #isCorked = false;

  constructor(stream: Duplex, owner: LinkOwner<Received>) {
    this.#stream = stream;
    this.#owner = owner;
    this.#reader = new LinkReader((value) => owner.read(value));
    this.#stopHeartbeats = owner.clock.every(linkHeartbeatMs, () => this.#heartbeatSoon());
    this.#whenEnded = new Promise((resolve) => {
      finished(stream, (error) => {
        this.#close(error ?? null);
        resolve();
      });
    });
    stream.on('data', (chunk: Buffer) => this.#receive(chunk));
    stream.on('drain', () => owner.drained?.());
    stream.once('end', () => this.#hungUp());
  }

  /** So much waits to be sent that what can wait has to, until `drained`. */
  get isCongested(): boolean {
    return this.#stream.writableLength > linkCongestedBytes;
  }

  /** Nothing when the link is at its end. Never throws. */
  send(message: Sent | { readonly kind: 'beat' }): void {
    if (this.#stage !== 'open') return;
    this.#cork();
    this.#stream.write(encodeLinkFrame(message));
    if (this.#stream.writableLength > linkBacklogBytesMax)
      this.#cut(`reads too slowly: ${this.#stream.writableLength} bytes wait for it`);
  }

  /** Sends what waits, hears nothing any more and hangs up. Resolves when the link has ended. */
  end(): Promise<void> {
    if (this.#stage === 'open') {
      this.#stage = 'ending';
      this.#stream.end();
      const giveUp = this.#owner.clock.after(linkSilenceMsMax, () => this.#stream.destroy());
      void this.#whenEnded.then(giveUp);
    }
    return this.#whenEnded;
  }

  /** What one turn says goes in one piece. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }

  #receive(chunk: Buffer): void {
    if (this.#stage !== 'open') return;
    for (const message of this.#reader.feed(chunk)) {
      this.#silentHeartbeats = 0;
      const fault = message.ok ? this.#owner.received(message.value) : message.error;
      if (fault !== null) this.#cut(fault);
      if (this.#stage !== 'open') return;
    }
  }

  /** Behind the stream's turn: what came while this process stood still is read before the peer is taken for dead. */
  #heartbeatSoon(): void {
    if (this.#isHeartbeatDue) return;
    this.#isHeartbeatDue = true;
    setImmediate(() => {
      this.#isHeartbeatDue = false;
      this.#heartbeat();
    });
  }

  #heartbeat(): void {
    if (this.#stage !== 'open') return;
    if (this.#owner.isSpare === true && !this.#reader.isGreeted) return;
    this.#silentHeartbeats += 1;
    const silentMs = this.#silentHeartbeats * linkHeartbeatMs;
    if (silentMs >= (this.#reader.isGreeted ? linkSilenceMsMax : mediaStartMsMax)) {
      this.#cut(`was silent for ${silentMs} ms`);
      return;
    }
    this.send({ kind: 'beat' });
    this.#owner.heartbeat();
  }

  #hungUp(): void {
    if (this.#reader.isWithin && this.#stage === 'open') this.#cut('hung up in the middle of a message');
    else this.#stop();
  }

  #cut(fault: string): void {
    if (this.#stage !== 'open') return;
    this.#fault = `${this.#owner.peer} ${fault}`;
    this.#stop();
  }

  #stop(): void {
    if (this.#stage === 'open') this.#stage = 'ending';
    this.#stream.destroy();
  }

  #close(error: Error | null): void {
    const isBroken = this.#stage === 'open' && error !== null;
    this.#stage = 'ended';
    this.#stopHeartbeats();
    if (isBroken) this.#fault = `the link to ${this.#owner.peer} broke: ${error.message}`;
    this.#stream.destroy();
    this.#owner.ended(this.#fault);
  }
}
