/**
 * The server's end of the link: admissions and reports of legs, counts and log lines of the media process, and the server's requests to
 * it. When the link ends, every leg on it ends. Messages are validated as those of a stranger: the process that decodes video of phones
 * may be compromised. Source: calls-and-media.md, The media process.
 */
import type { Duplex } from 'node:stream';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
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
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { GrantedLegs } from './granted-legs.ts';
import { Link } from '../../lib/link/link.ts';
import { writeLine } from '../../lib/link/link-log.ts';
import { mediaLanguage, mediaLinkBounds } from './media-language.ts';
import { applyTally } from './link-telemetry.ts';

export interface ServerEndDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly service: CoreLegService;
  /** The `media_url` of the process that has the call; null: this one. */
  elsewhere(sessionId: SessionId): string | null;
  readonly process: number;
  readonly telemetry: MediaTelemetry;
  readonly progress: LoopProgress;
  /** The media process checks tokens against the live ones. */
  readonly keys: TokenKeys;
  /** The hello has arrived. `instance`: identifies the process, the same on every connection. */
  onHello(instance: string): void;
  /** Called when it listens, and about once a second. */
  onCounts(): void;
  /** Called once, after every leg has ended. `fault`: a sentence; null: an orderly end by either side. */
  onEnd(fault: string | null): void;
}

export interface MediaListening {
  readonly address: MediaAddress;
  /** Public origins from its own settings, comma separated; null: none. */
  readonly advertise: string | null;
}

export class ServerEnd {
  readonly #listening = deferred<MediaListening>();
  /** Its address. Rejects with the reason that it cannot listen, or with the end of the link. */
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

  /** Must be called after every change of the keys, before a token of a new one is issued. */
  updateKeys(): void {
    this.#link.send({ kind: 'keys', tokenKeys: this.#deps.keys.export() });
  }

  /** Resolves to the reason to keep the current certificate; null: the files were reloaded. */
  async reloadTls(): Promise<string | null> {
    const reloaded = await this.#asks.ask('reload-tls', linkViewMsMax, (question) => {
      this.#link.send({ kind: 'reload-tls', question });
      return true;
    });
    return reloaded.ok ? reloaded.value : 'the media process does not answer';
  }

  /** Accepts no more connections. Resolves when its legs have ended, or the link has; before it listens, ends the link. */
  drain(): Promise<void> {
    if (this.#stage !== 'listening') return this.end();
    this.#link.send({ kind: 'drain' });
    return this.#drained.promise;
  }

  /** Null: no such session, or no answer in time. */
  async view(sessionId: SessionId): Promise<MediaView | null> {
    if (this.#stage !== 'listening') return null;
    const view = await this.#asks.ask('view', linkViewMsMax, (question) => {
      this.#link.send({ kind: 'view', question, sessionId });
      return true;
    });
    return view.ok ? view.value : null;
  }

  /** At most about a second old; null: none yet, or the link has ended. */
  counts(): MediaProcessCounts | null {
    return this.#counts;
  }

  /** Messages sent before are still delivered. Resolves when the link has ended. */
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
        return this.#legs.adopt(message.legs);
      case 'brought':
        this.#legs.completeAdoption();
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
        this.#legs.legClosed(message.leg);
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
