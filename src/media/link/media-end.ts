/**
 * The media process's end of the link: its requests to the server, and the server's to it. It outlives links where its legs may:
 * the next one is brought every leg that is open. Lifecycle of a link: greeting -> bringing -> linked. Source:
 * calls-and-media.md, The media process; scale-out.md, Edges.
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { TokenKeys, type TokenKey } from '../../protocol/call-token/token-keys.ts';
import type { SessionId } from '../../model/ids.ts';
import { linkBroughtMax, linkTallyMs } from '../../model/limits.ts';
import {
  linkVersion,
  readServerMessage,
  type BroughtLeg,
  type MediaMessage,
  type ServerMessage,
} from '../../protocol/media-link/link-message.ts';
import type { MediaAddress, MediaProcessCounts, MediaView } from '../../protocol/media-link/media-values.ts';
import type { LegService } from '../../core/ports/leg-service.ts';
import type { Log } from '../../lib/log.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { Link } from '../../lib/link/link.ts';
import { LinkLog } from '../../lib/link/link-log.ts';
import { mediaLanguage, mediaLinkBounds, mediaLogBounds } from './media-language.ts';
import { TelemetryBatch } from './link-telemetry.ts';
import { RemoteLegService } from './remote-leg-service.ts';

/** The media process, for its server's requests. Nothing of it throws. */
export interface MediaProcess {
  /** Its origins for clients, comma separated, by its own settings; null: none. */
  readonly advertise: string | null;
  /** Returns why it keeps the certificate that it has; null: it has read the files again. */
  reloadTls(): string | null;
  /** Takes no more connections; resolves when every leg is gone. Never rejects. */
  drain(): Promise<void>;
  /** Null: there is no such session. */
  view(sessionId: SessionId): MediaView | null;
  counts(): MediaProcessCounts;
}

export interface MediaEndDeps {
  readonly clock: Clock;
  /** Default: its own; the heartbeats of another link share it. */
  readonly progress?: LoopProgress;
  /** By it the server knows it again. Left out: this process's. */
  readonly instance?: string;
  /** Legs stay so long without a link; absent: they end with it. */
  readonly awayMsMax?: number;
  /** Once for each link, whoever ended it; legs that end with it are closed by then. `fault`: a sentence; null: one of the two hung up in order. */
  onEnd(fault: string | null): void;
}

type MediaLink = Link<MediaMessage, ServerMessage>;

export class MediaEnd {
  readonly service: LegService;
  readonly telemetry: MediaTelemetry;
  /** Written by the server, which says of its lines that they are of the media process; lines are lost while there is no link. */
  readonly log: Log;
  readonly #deps: MediaEndDeps;
  readonly #progress: LoopProgress;
  readonly #service: RemoteLegService;
  readonly #batch: TelemetryBatch;
  readonly #log: LinkLog;
  readonly #stopTallies: Cancel;
  readonly #started = deferred();
  #keys: TokenKeys | null = null;
  /** Null: it does not listen yet. */
  #process: MediaProcess | null = null;
  #address: MediaAddress | null = null;
  #link: MediaLink | null = null;
  #stage: 'away' | 'greeting' | 'bringing' | 'linked' = 'away';
  #isOver = false;
  /** Legs that the server is still to be brought. */
  #left: BroughtLeg[] = [];
  #isBringDue = false;
  /** Null: a server is there, or none has been yet. */
  #cancelGiveUp: Cancel | null = null;

  constructor(deps: MediaEndDeps) {
    this.#deps = deps;
    const { clock, progress = new LoopProgress(clock) } = deps;
    this.#progress = progress;
    this.#started.promise.catch(() => undefined);
    const send = (message: MediaMessage): void => this.#link?.send(message);
    const isCongested = (): boolean => this.#stage !== 'linked' || (this.#link?.isCongested ?? true);
    this.service = this.#service = new RemoteLegService({ clock, send, isCongested, keys: () => this.#keys });
    this.telemetry = this.#batch = new TelemetryBatch(
      (tally) => send({ kind: 'tally', tally }),
      progress.advance,
    );
    this.log = this.#log = new LinkLog(mediaLogBounds, send, () => this.#link?.isCongested ?? true);
    this.#stopTallies = clock.every(linkTallyMs, () => this.#flushTally());
  }

  /** A stream to a server; the one before it has ended. */
  attach(stream: Duplex): void {
    assert(this.#link === null, 'a media process has one link at a time');
    const { clock, instance = instanceOfProcess } = this.#deps;
    this.#stage = 'greeting';
    this.#link = new Link(stream, {
      clock,
      peer: 'the server',
      progress: this.#progress,
      bounds: mediaLinkBounds,
      language: mediaLanguage(readServerMessage),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      drained: () => this.#drained(),
      ended: (fault) => this.#ended(fault),
    });
    this.#link.send({ kind: 'hello', version: linkVersion, instance });
  }

  /** Resolves when a server has said hello, with the keys of tokens; rejects when the first link ends before. */
  started(): Promise<void> {
    return this.#started.promise;
  }

  /** It listens; from now on it can be asked. */
  ready(address: MediaAddress, process: MediaProcess): void {
    this.#process = process;
    this.#address = address;
    if (this.#stage === 'linked') this.#sayListening();
  }

  /** It cannot listen, and why. To be followed by `end`. */
  failed(sentence: string): void {
    this.#link?.send({ kind: 'failed', sentence: sentence.slice(0, sentenceCharactersMax) });
  }

  /** Sends all that is queued, and closes every leg. Resolves when the link has ended, behind which none follows. */
  async end(): Promise<void> {
    this.#flushTally();
    this.#isOver = true;
    if (this.#link === null) this.#finish();
    await this.#link?.end();
  }

  #received(message: ServerMessage): string | null {
    switch (message.kind) {
      case 'hello':
        this.#greeted(message.tokenKeys);
        break;
      case 'heartbeat':
        break;
      case 'declined':
        return `sent this media process away: ${message.sentence}`;
      case 'keys':
        this.#keys?.replace(message.tokenKeys);
        break;
      case 'reload-tls':
        this.#reloadTls(message.question);
        break;
      case 'drain': {
        const link = this.#link;
        void this.#process?.drain().then(() => link?.send({ kind: 'drained' }));
        break;
      }
      case 'view': {
        const { question, sessionId } = message;
        this.#link?.send({ kind: 'viewed', question, view: this.#process?.view(sessionId) ?? null });
        break;
      }
      default:
        this.#service.received(message);
    }
    return null;
  }

  #greeted(tokenKeys: readonly TokenKey[]): void {
    this.#awaitNoLonger();
    if (this.#keys === null) this.#keys = new TokenKeys(tokenKeys);
    else this.#keys.replace(tokenKeys);
    this.#stage = 'bringing';
    this.#left = this.#service.bring();
    this.#bring();
    this.#started.resolve();
  }

  /** So many legs a turn. */
  #bring(): void {
    if (this.#stage !== 'bringing' || this.#link?.isCongested !== false) return;
    const legs = this.#left.splice(0, linkBroughtMax);
    if (legs.length > 0) {
      this.#link.send({ kind: 'bring', legs });
      if (this.#left.length > 0) return this.#bringSoon();
    }
    this.#link.send({ kind: 'brought' });
    this.#stage = 'linked';
    this.#service.linked();
    this.#sayListening();
  }

  #bringSoon(): void {
    if (this.#isBringDue) return;
    this.#isBringDue = true;
    setImmediate(() => {
      this.#isBringDue = false;
      this.#bring();
    });
  }

  #drained(): void {
    if (this.#stage === 'bringing') this.#bringSoon();
    else if (this.#stage === 'linked') this.#service.linkDrained();
  }

  /** Its capacity is known before its address is. */
  #sayListening(): void {
    if (this.#process === null || this.#address === null) return;
    const { advertise } = this.#process;
    this.#sendCounts();
    this.#link?.send({ kind: 'listening', address: this.#address, advertise });
  }

  #flushTally(): void {
    if (this.#stage === 'linked') this.#batch.flush();
  }

  /** One that does not listen yet reads the files when it does. */
  #reloadTls(question: number): void {
    const problem = this.#process?.reloadTls()?.slice(0, sentenceCharactersMax) ?? null;
    this.#sendCounts();
    this.#link?.send({ kind: 'tls-reloaded', question, problem });
  }

  #heartbeat(): void {
    this.#log.heartbeat();
    this.#sendCounts();
  }

  #sendCounts(): void {
    if (this.#process !== null) this.#link?.send({ kind: 'counts', counts: this.#process.counts() });
  }

  #ended(fault: string | null): void {
    const { clock, awayMsMax = 0 } = this.#deps;
    this.#link = null;
    this.#stage = 'away';
    this.#started.reject(new Error(fault ?? 'the server hung up'));
    this.#service.linkEnded();
    if (this.#isOver || awayMsMax === 0) this.#finish();
    else this.#cancelGiveUp ??= clock.after(awayMsMax, () => this.#service.giveUp());
    this.#deps.onEnd(fault);
  }

  #finish(): void {
    this.#isOver = true;
    this.#stopTallies();
    this.#awaitNoLonger();
    this.#service.end();
  }

  #awaitNoLonger(): void {
    this.#cancelGiveUp?.();
    this.#cancelGiveUp = null;
  }
}

const sentenceCharactersMax = 4096;

const instanceOfProcess = randomUUID();
