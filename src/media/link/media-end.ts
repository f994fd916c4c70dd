/**
 * The media process's end of the link: its requests to the server, and the server's to it. When the link ends, every leg
 * is closed, and the process has nothing more to do. Source: calls-and-media.md, The media process.
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { SessionId } from '../../model/ids.ts';
import { linkTallyMs } from '../../model/limits.ts';
import {
  linkVersion,
  readServerMessage,
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
  /** Once, whoever ended it; the legs are closed by then. `fault`: a sentence; null: one of the two hung up in order. */
  onEnd(fault: string | null): void;
}

export class MediaEnd {
  readonly service: LegService;
  readonly telemetry: MediaTelemetry;
  /** Written by the server, which says of its lines that they are of the media process. */
  readonly log: Log;
  readonly #deps: MediaEndDeps;
  readonly #link: Link<MediaMessage, ServerMessage>;
  readonly #service: RemoteLegService;
  readonly #batch: TelemetryBatch;
  readonly #log: LinkLog;
  readonly #stopTallies: Cancel;
  readonly #started: Promise<void>;
  #start: () => void = () => undefined;
  #failStart: (error: Error) => void = () => undefined;
  #keys: TokenKeys | null = null;
  /** Null: it does not listen yet. */
  #process: MediaProcess | null = null;

  constructor(stream: Duplex, deps: MediaEndDeps) {
    this.#deps = deps;
    const { clock, progress = new LoopProgress(clock) } = deps;
    this.#started = new Promise((resolve, reject) => {
      this.#start = resolve;
      this.#failStart = reject;
    });
    this.#started.catch(() => undefined);
    const send = (message: MediaMessage): void => this.#link.send(message);
    const isCongested = (): boolean => this.#link.isCongested;
    this.service = this.#service = new RemoteLegService({ clock, send, isCongested, keys: () => this.#keys });
    this.telemetry = this.#batch = new TelemetryBatch(
      (tally) => send({ kind: 'tally', tally }),
      progress.advance,
    );
    this.log = this.#log = new LinkLog(mediaLogBounds, send, isCongested);
    this.#link = new Link(stream, {
      clock,
      peer: 'the server',
      progress,
      bounds: mediaLinkBounds,
      language: mediaLanguage(readServerMessage),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      drained: () => this.#service.linkDrained(),
      ended: (fault) => this.#ended(fault),
    });
    this.#stopTallies = clock.every(linkTallyMs, () => this.#batch.flush());
    send({ kind: 'hello', version: linkVersion, instance: deps.instance ?? instanceOfProcess });
  }

  /** Resolves when the server has said hello, with the keys of tokens; rejects when the link ends before. */
  started(): Promise<void> {
    return this.#started;
  }

  /** It listens; from now on it can be asked. What it can do is known before its address is. */
  ready(address: MediaAddress, process: MediaProcess): void {
    this.#process = process;
    this.#link.send({ kind: 'counts', counts: process.counts() });
    this.#link.send({ kind: 'listening', address, advertise: process.advertise });
  }

  /** It cannot listen, and why. To be followed by `end`. */
  failed(sentence: string): void {
    this.#link.send({ kind: 'failed', sentence: sentence.slice(0, sentenceCharactersMax) });
  }

  /** What was sent before still goes. Resolves when the link has ended. */
  end(): Promise<void> {
    this.#batch.flush();
    return this.#link.end();
  }

  #received(message: ServerMessage): string | null {
    switch (message.kind) {
      case 'hello':
        this.#keys = new TokenKeys(message.tokenKeys);
        this.#start();
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
      case 'drain':
        void this.#process?.drain().then(() => this.#link.send({ kind: 'drained' }));
        break;
      case 'view': {
        const { question, sessionId } = message;
        this.#link.send({ kind: 'viewed', question, view: this.#process?.view(sessionId) ?? null });
        break;
      }
      default:
        this.#service.received(message);
    }
    return null;
  }

  /** One that does not listen yet reads the files when it does. */
  #reloadTls(question: number): void {
    const problem = this.#process?.reloadTls()?.slice(0, sentenceCharactersMax) ?? null;
    this.#sendCounts();
    this.#link.send({ kind: 'tls-reloaded', question, problem });
  }

  #heartbeat(): void {
    this.#log.heartbeat();
    this.#sendCounts();
  }

  #sendCounts(): void {
    if (this.#process !== null) this.#link.send({ kind: 'counts', counts: this.#process.counts() });
  }

  #ended(fault: string | null): void {
    this.#stopTallies();
    this.#failStart(new Error(fault ?? 'the server hung up'));
    this.#service.linkEnded();
    this.#deps.onEnd(fault);
  }
}

const sentenceCharactersMax = 4096;

const instanceOfProcess = randomUUID();
