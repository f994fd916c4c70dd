/**
 * The media process's end of the link: its requests to the server, and the server's requests to it. With `awayMsMax` it outlives a link:
 * the next server adopts every open leg. Lifecycle of a link: greeting -> bringing -> linked. Source: calls-and-media.md, The media
 * process; scale-out.md, Edges.
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
import { LoopProgress } from '../../lib/loop-progress.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { Link } from '../../lib/link/link.ts';
import { LinkLog } from '../../lib/link/link-log.ts';
import { linkLogBounds } from '../../model/link-bounds.ts';
import { mediaLanguage, mediaLinkBounds } from './media-language.ts';
import { TelemetryBatch } from './link-telemetry.ts';
import { RemoteLegService } from './remote-leg-service.ts';

/** The media process as its server sees it. No method throws. */
export interface MediaProcess {
  /** Public origins from its own settings, comma separated; null: none. */
  readonly advertise: string | null;
  /** Returns the reason to keep the current certificate; null: the files were reloaded. */
  reloadTls(): string | null;
  /** Accepts no more connections; resolves when every leg has ended. Never rejects. */
  drain(): Promise<void>;
  view(sessionId: SessionId): MediaView | null;
  counts(): MediaProcessCounts;
}

export interface MediaEndDeps {
  readonly clock: Clock;
  /** Default: its own. Shared with the heartbeats of another link. */
  readonly progress?: LoopProgress;
  /** Identifies this process to the server. Default: an id of this process. */
  readonly instance?: string;
  /** Legs survive this long without a link; absent: they end with it. */
  readonly awayMsMax?: number;
  /**
   * Called once for each link, after its legs are closed if they end with it. `fault`: a sentence; null: an orderly end by either side.
   */
  onEnd(fault: string | null): void;
}

type MediaLink = Link<MediaMessage, ServerMessage>;

export class MediaEnd {
  readonly service: LegService;
  readonly telemetry: MediaTelemetry;
  /** Written by the server, which marks the lines as the media process's; lines are lost while there is no link. */
  readonly log: LinkLog;
  readonly #deps: MediaEndDeps;
  readonly #progress: LoopProgress;
  readonly #service: RemoteLegService;
  readonly #batch: TelemetryBatch;
  readonly #stopTallies: Cancel;
  readonly #started = deferred();
  #keys: TokenKeys | null = null;
  #process: MediaProcess | null = null;
  #address: MediaAddress | null = null;
  #link: MediaLink | null = null;
  #stage: 'away' | 'greeting' | 'bringing' | 'linked' = 'away';
  #isOver = false;
  /** Open legs that the server does not know yet. */
  #left: BroughtLeg[] = [];
  #isSendingDue = false;
  /** Null: a server is connected, or none has been yet. */
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
    this.log = new LinkLog(linkLogBounds, send, () => this.#link?.isCongested ?? true);
    this.#stopTallies = clock.every(linkTallyMs, () => this.#flushTally());
  }

  /** Starts a link over `stream`; the previous link must have ended. */
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

  /** Resolves after the server's hello, which has the token keys; rejects if the first link ends before. */
  started(): Promise<void> {
    return this.#started.promise;
  }

  ready(address: MediaAddress, process: MediaProcess): void {
    this.#process = process;
    this.#address = address;
    if (this.#stage === 'linked') this.#sendListening();
  }

  /** Sends the capacity with the engine; until then it was assumed. */
  loaded(): void {
    if (this.#stage === 'linked') this.#sendCounts();
  }

  failed(sentence: string): void {
    this.#link?.send({ kind: 'failed', sentence: sentence.slice(0, sentenceCharactersMax) });
  }

  /** Sends everything queued and closes every leg. Resolves when the link has ended; no other link follows. */
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
        return `declined this media process: ${message.sentence}`;
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
    this.#cancelAwait();
    if (this.#keys === null) this.#keys = new TokenKeys(tokenKeys);
    else this.#keys.replace(tokenKeys);
    this.#stage = 'bringing';
    this.#left = this.#service.describeLegs();
    this.#sendOpenLegs();
    this.#started.resolve();
  }

  /** Sends a bounded number of legs per turn. */
  #sendOpenLegs(): void {
    if (this.#stage !== 'bringing' || this.#link?.isCongested !== false) return;
    const legs = this.#left.splice(0, linkBroughtMax);
    if (legs.length > 0) {
      this.#link.send({ kind: 'bring', legs });
      if (this.#left.length > 0) return this.#scheduleOpenLegs();
    }
    this.#link.send({ kind: 'brought' });
    this.#stage = 'linked';
    this.#service.linked();
    this.#sendListening();
  }

  #scheduleOpenLegs(): void {
    if (this.#isSendingDue) return;
    this.#isSendingDue = true;
    setImmediate(() => {
      this.#isSendingDue = false;
      this.#sendOpenLegs();
    });
  }

  #drained(): void {
    if (this.#stage === 'bringing') this.#scheduleOpenLegs();
    else if (this.#stage === 'linked') this.#service.linkDrained();
  }

  /** Sends the capacity before the address. */
  #sendListening(): void {
    if (this.#process === null || this.#address === null) return;
    const { advertise } = this.#process;
    this.#sendCounts();
    this.#link?.send({ kind: 'listening', address: this.#address, advertise });
  }

  #flushTally(): void {
    if (this.#stage === 'linked') this.#batch.flush();
  }

  /** Before it listens there is nothing to reload: it reads the files when it does. */
  #reloadTls(question: number): void {
    const problem = this.#process?.reloadTls()?.slice(0, sentenceCharactersMax) ?? null;
    this.#sendCounts();
    this.#link?.send({ kind: 'tls-reloaded', question, problem });
  }

  #heartbeat(): void {
    this.log.heartbeat();
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
    this.#cancelAwait();
    this.#service.end();
  }

  #cancelAwait(): void {
    this.#cancelGiveUp?.();
    this.#cancelGiveUp = null;
  }
}

const sentenceCharactersMax = 4096;

const instanceOfProcess = randomUUID();
