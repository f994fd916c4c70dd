/**
 * The core's end of the link to one edge: counts, log lines and orders; EdgeSessions has the sessions. The edge sends the first hello,
 * and the core answers or declines it. Source: scale-out.md, Edges.
 */
import type { Duplex } from 'node:stream';
import type { CoreDeps } from '../core/ports/core-deps.ts';
import type { ListenAddress } from '../lib/connections/listen-address.ts';
import { Link } from '../lib/link/link.ts';
import { writeLine, type LogLine } from '../lib/link/link-log.ts';
import { OpenAsks } from '../lib/link/open-asks.ts';
import type { LoopProgress } from '../lib/loop-progress.ts';
import { edgeAnswerMsMax } from '../model/sleep.ts';
import { linkLogLinesMax } from '../model/limits.ts';
import { linkBounds } from '../model/link-bounds.ts';
import {
  edgeLinkVersion,
  type CoreMessage,
  type EdgeHello,
  type EdgeMessage,
} from '../protocol/edge-link/edge-message.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import { coreLanguage } from './edge-language.ts';
import type { EdgeSessions } from './edge-sessions.ts';
import { applyTally } from './edge-telemetry.ts';

export interface CoreEndDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly progress: LoopProgress;
  readonly telemetry: SleepTelemetry;
  readonly release: string;
  /** The edge runs on this machine, for the same user. */
  readonly isLocal: boolean;
  /** Returns the sessions of the edge, or the reason why it is declined. */
  greeted(hello: EdgeHello, end: CoreEnd): EdgeSessions | string;
  /** The edge has begun to accept modules. */
  onListening(): void;
  /** True: another edge at the same address has room. */
  othersHaveRoom(end: CoreEnd): boolean;
  /** The edge was declined, and received this sentence. */
  onDeclined(sentence: string): void;
  /** Called once, after EdgeSessions was notified. `fault`: a sentence; null: an orderly end. */
  onEnd(end: CoreEnd, fault: string | null): void;
}

/** The clocks of the ends differ, so lines of three heartbeats may arrive between two of ours. */
const linesMax = 3 * linkLogLinesMax;

export class CoreEnd {
  readonly #deps: CoreEndDeps;
  readonly #link: Link<CoreMessage, EdgeMessage>;
  readonly #asks: OpenAsks<{ readonly 'reload-tls': string | null; readonly drain: number }, 'unanswered'>;
  #sessions: EdgeSessions | null = null;
  #address: ListenAddress | null = null;
  #sockets = 0;
  #lines = 0;
  /** Monotonic milliseconds; null: no probe is in flight. */
  #probedMs: number | null = null;
  #delayMs: number | null = null;
  /** Last value sent to the edge; null: none yet. */
  #othersHaveRoom: boolean | null = null;

  constructor(stream: Duplex, deps: CoreEndDeps) {
    const { clock, progress, isLocal } = deps;
    this.#deps = deps;
    this.#asks = new OpenAsks(clock, { max: 16, unsent: 'unanswered', expired: () => 'unanswered' });
    this.#link = new Link(stream, {
      clock,
      peer: 'the edge',
      progress,
      bounds: linkBounds,
      language: coreLanguage(isLocal),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      ended: (fault) => this.#ended(fault),
    });
  }

  /** Null: it does not listen yet. */
  get address(): ListenAddress | null {
    return this.#address;
  }

  /** Sockets of modules, up to a second old. */
  get sockets(): number {
    return this.#sockets;
  }

  /** Round trip of a probe; null: not measured yet. */
  get delayMs(): number | null {
    return this.#delayMs;
  }

  /** Resolves with the reason why the edge keeps its old certificate; null: reloaded. */
  async reloadTls(): Promise<string | null> {
    const reloaded = await this.#asks.ask('reload-tls', edgeAnswerMsMax, (ask) => {
      this.#link.send({ kind: 'reload-tls', ask });
      return true;
    });
    return reloaded.ok ? reloaded.value : 'it does not answer';
  }

  /** Resolves with the number of sessions still open. */
  async drain(perSecond: number, deadlineMs: number): Promise<number> {
    const drained = await this.#asks.ask('drain', deadlineMs + edgeAnswerMsMax, (ask) => {
      this.#link.send({ kind: 'drain', ask, perSecond, deadlineMs });
      return true;
    });
    return drained.ok ? drained.value : (this.#sessions?.size ?? 0);
  }

  /** Sends pending messages, then ends the link. Resolves when it has ended. */
  end(): Promise<void> {
    return this.#link.end();
  }

  #received(message: EdgeMessage): string | null {
    switch (message.kind) {
      case 'hello':
        this.#greeted(message);
        return null;
      case 'unfit':
        this.#decline(message.sentence);
        return null;
      case 'heartbeat':
        return null;
      case 'counts':
        this.#sockets = message.sockets;
        return null;
      case 'tally':
        applyTally(this.#deps.telemetry, message);
        return null;
      case 'log':
        return this.#write(message);
      case 'listening':
        this.#address = { host: message.host, port: message.port };
        this.#othersHaveRoom = null;
        this.#deps.onListening();
        return null;
      case 'drained':
        return this.#answered(this.#asks.answered(message.ask, 'drain', message.left));
      case 'tls-reloaded':
        return this.#answered(this.#asks.answered(message.ask, 'reload-tls', message.problem));
      case 'probed':
        return this.#measured();
      default:
        // A declined edge may have sent more before it noticed.
        return this.#sessions?.received(message) ?? null;
    }
  }

  #greeted(hello: EdgeHello): void {
    const sessions = this.#deps.greeted(hello, this);
    if (typeof sessions === 'string') return this.#decline(sessions);
    this.#sessions = sessions;
    this.#link.send({ kind: 'hello', version: edgeLinkVersion, release: this.#deps.release });
    sessions.linked((message) => this.#link.send(message));
  }

  #decline(sentence: string): void {
    this.#link.send({ kind: 'declined', version: edgeLinkVersion, sentence });
    this.#deps.onDeclined(sentence);
    void this.#link.end();
  }

  #write(line: LogLine): string | null {
    this.#lines += 1;
    if (this.#lines > linesMax) return `sent more than ${linesMax} log lines in a second`;
    const edge = this.#sessions?.hello.name ?? '';
    writeLine(this.#deps.log, line, (said) => ({ edge, said }));
    return null;
  }

  #answered(isOfItsKind: boolean): string | null {
    return isOfItsKind ? null : 'answered an order that it was not sent';
  }

  #heartbeat(): void {
    this.#lines = 0;
    if (this.#address !== null) this.#balance();
    if (this.#sessions === null || this.#probedMs !== null) return;
    this.#probedMs = this.#deps.clock.monotonicMs();
    this.#link.send({ kind: 'probe' });
  }

  #balance(): void {
    const othersHaveRoom = this.#deps.othersHaveRoom(this);
    if (othersHaveRoom === this.#othersHaveRoom) return;
    this.#othersHaveRoom = othersHaveRoom;
    this.#link.send({ kind: 'balance', othersHaveRoom });
  }

  #measured(): string | null {
    if (this.#probedMs === null) return 'answered a probe that it was not sent';
    this.#delayMs = this.#deps.clock.monotonicMs() - this.#probedMs;
    this.#probedMs = null;
    return null;
  }

  #ended(fault: string | null): void {
    this.#asks.failAll();
    this.#deps.onEnd(this, fault);
  }
}
