/**
 * The server's end of the link: admissions and reports of legs, what the media process counts and logs, and the server's
 * requests to it. When the link ends, every leg of it is gone. Messages are checked as a stranger's: the process that
 * decodes what phones send may be in one's hand. Source: calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { SessionId } from '../../model/ids.ts';
import { linkViewMsMax, linkViewsMax } from '../../model/limits.ts';
import {
  linkVersion,
  readMediaMessage,
  type MediaMessage,
  type ServerMessage,
} from '../../protocol/media-link/link-message.ts';
import type { MediaAddress, MediaProcessCounts, MediaView } from '../../protocol/media-link/media-values.ts';
import type { CoreLegService } from '../../core/ports/leg-service.ts';
import type { Log } from '../../lib/log.ts';
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { GrantedLegs } from './granted-legs.ts';
import { Link } from '../../lib/link/link.ts';
import { writeLine } from '../../lib/link/link-log.ts';
import { mediaLanguage, mediaLinkBounds } from './media-language.ts';
import { applyTally } from './link-telemetry.ts';

export interface ServerEndDeps {
  readonly clock: Clock;
  readonly service: CoreLegService;
  /** The `media_url` of the process where the call is; null: it is at this one. */
  elsewhere(sessionId: SessionId): string | null;
  /** The number of the media process. */
  readonly process: number;
  readonly telemetry: MediaTelemetry;
  readonly progress: LoopProgress;
  readonly log: Log;
  /** The media process checks tokens by those that are live. */
  readonly keys: TokenKeys;
  /** It has come. `instance`: of its process, the same each time that it connects. */
  onHello(instance: string): void;
  /** When it listens, and about once a second. */
  onCounts(): void;
  /** Once, whoever ended it; every leg is gone by then. `fault`: a sentence; null: one of the two hung up in order. */
  onEnd(fault: string | null): void;
}

/** What a media process says when it listens. */
export interface MediaListening {
  readonly address: MediaAddress;
  /** Its origins for clients, comma separated, by its own settings; null: it has none. */
  readonly advertise: string | null;
}

export class ServerEnd {
  readonly #listening = deferred<MediaListening>();
  /** Where it listens. Rejects with the media process's reason why it cannot, or with the end of the link. */
  readonly listening = this.#listening.promise;
  readonly #deps: ServerEndDeps;
  readonly #link: Link<ServerMessage, MediaMessage>;
  readonly #legs: GrantedLegs;
  readonly #asks: OpenAsks<
    { readonly view: MediaView | null; readonly 'reload-tls': string | null },
    'unanswered'
  >;
  #stage: 'starting' | 'listening' | 'ended' = 'starting';
  readonly #drained = deferred();
  #counts: MediaProcessCounts | null = null;

  constructor(stream: Duplex, deps: ServerEndDeps) {
    const { clock, progress } = deps;
    this.#deps = deps;
    this.listening.catch(() => undefined);
    const send = (message: ServerMessage): void => this.#link.send(message);
    this.#legs = new GrantedLegs({ ...deps, send });
    this.#asks = new OpenAsks(clock, {
      max: linkViewsMax,
      unsent: 'unanswered',
      expired: () => 'unanswered',
    });
    this.#link = new Link(stream, {
      clock,
      peer: 'the media process',
      progress,
      bounds: mediaLinkBounds,
      language: mediaLanguage(readMediaMessage),
      received: (message) => this.#received(message),
      heartbeat: () => undefined,
      ended: (fault) => this.#ended(fault),
    });
    send({ kind: 'hello', version: linkVersion, tokenKeys: deps.keys.export() });
  }

  /** After every change of the keys, and before a token of a new one is handed out. */
  updateKeys(): void {
    this.#link.send({ kind: 'keys', tokenKeys: this.#deps.keys.export() });
  }

  /** Resolves to why it keeps the certificate that it has; null: it has read the files again. */
  async reloadTls(): Promise<string | null> {
    const reloaded = await this.#asks.ask('reload-tls', linkViewMsMax, (question) => {
      this.#link.send({ kind: 'reload-tls', question });
      return true;
    });
    return reloaded.ok ? reloaded.value : 'the media process does not answer';
  }

  /** It takes no more connections. Resolves when its legs are gone, or the link has ended, which one that does not listen yet does. */
  drain(): Promise<void> {
    if (this.#stage !== 'listening') return this.end();
    this.#link.send({ kind: 'drain' });
    return this.#drained.promise;
  }

  /** Null: there is no such session, or no answer in time. */
  async view(sessionId: SessionId): Promise<MediaView | null> {
    if (this.#stage !== 'listening') return null;
    const view = await this.#asks.ask('view', linkViewMsMax, (question) => {
      this.#link.send({ kind: 'view', question, sessionId });
      return true;
    });
    return view.ok ? view.value : null;
  }

  /** As of a second ago; null: it has said nothing yet, or the link has ended. */
  counts(): MediaProcessCounts | null {
    return this.#counts;
  }

  /** What was sent before still goes. Resolves when the link has ended. */
  end(): Promise<void> {
    return this.#link.end();
  }

  #received(message: MediaMessage): string | null {
    switch (message.kind) {
      case 'hello':
        this.#deps.onHello(message.instance);
        break;
      case 'heartbeat':
        break;
      case 'bring':
        return this.#legs.bring(message.legs);
      case 'brought':
        this.#legs.brought();
        break;
      case 'listening':
        this.#stage = 'listening';
        this.#listening.resolve({ address: message.address, advertise: message.advertise });
        break;
      case 'failed':
        this.#listening.reject(new Error(message.sentence));
        break;
      case 'drained':
        this.#drained.resolve();
        break;
      case 'counts':
        this.#counts = message.counts;
        this.#deps.onCounts();
        break;
      case 'tally':
        applyTally(this.#deps.telemetry, message.tally);
        break;
      case 'log':
        writeLine(this.#deps.log, message, (media) => ({ media }));
        break;
      case 'tls-reloaded':
        this.#asks.answered(message.question, 'reload-tls', message.problem);
        break;
      case 'viewed':
        this.#asks.answered(message.question, 'view', message.view);
        break;
      case 'admit-device':
      case 'admit-bridge':
      case 'admit-viewer':
        this.#legs.admit(message);
        break;
      case 'ask-heard':
        this.#link.send({ kind: 'heard', question: message.question });
        break;
      case 'open':
        return this.#legs.open(message.leg);
      case 'gone':
        this.#legs.gone(message.leg);
        break;
      default:
        return this.#legs.received(message);
    }
    return null;
  }

  #ended(fault: string | null): void {
    this.#stage = 'ended';
    this.#counts = null;
    this.#listening.reject(new Error(fault ?? 'the media process hung up'));
    this.#asks.failAll();
    this.#legs.end();
    this.#drained.resolve();
    this.#deps.onEnd(fault);
  }
}
