/**
 * The core's end of the link to one edge: counts, log lines and orders; its sessions are those of EdgeSessions. The peer
 * says hello first, and is answered or declined. Source: scale-out.md, Edges.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { Link } from '../lib/link/link.ts';
import { writeLine, type LogLine } from '../lib/link/link-log.ts';
import { OpenAsks } from '../lib/link/open-asks.ts';
import type { Log } from '../lib/log.ts';
import type { LoopProgress } from '../lib/loop-progress.ts';
import { edgeAnswerMsMax } from '../model/sleep.ts';
import { linkLogLinesMax } from '../model/limits.ts';
import {
  edgeLinkVersion,
  type CoreMessage,
  type EdgeAddress,
  type EdgeHello,
  type EdgeMessage,
} from '../protocol/edge-link/edge-message.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import { coreLanguage, edgeLinkBounds } from './edge-language.ts';
import type { EdgeSessions } from './edge-sessions.ts';
import { applyTally } from './edge-telemetry.ts';

export interface CoreEndDeps {
  readonly clock: Clock;
  readonly progress: LoopProgress;
  readonly telemetry: SleepTelemetry;
  readonly log: Log;
  readonly release: string;
  /** The edge runs on this machine, for the same user. */
  readonly isLocal: boolean;
  /** Gives the sessions of the edge, or a sentence why it is declined. */
  greeted(hello: EdgeHello, end: CoreEnd): EdgeSessions | string;
  /** It accepts modules. */
  onListening(): void;
  /** Another edge at its address has room. */
  othersHaveRoom(end: CoreEnd): boolean;
  /** It was sent away, with this sentence. */
  onDeclined(sentence: string): void;
  /** Once, and its sessions know. `fault`: a sentence; null: one of the two hung up in order. */
  onEnd(end: CoreEnd, fault: string | null): void;
}

/** The clocks of the two ends differ: as many lines as cross between three of our heartbeats are in order between two. */
const linesMax = 3 * linkLogLinesMax;

export class CoreEnd {
  readonly #deps: CoreEndDeps;
  readonly #link: Link<CoreMessage, EdgeMessage>;
  readonly #asks: OpenAsks<{ readonly 'reload-tls': string | null; readonly drain: number }, 'unanswered'>;
  #sessions: EdgeSessions | null = null;
  #address: EdgeAddress | null = null;
  #sockets = 0;
  #lines = 0;
  /** Monotonic; null: no probe is on its way. */
  #probedMs: number | null = null;
  #delayMs: number | null = null;
  /** As it was told; null: not yet. */
  #othersHaveRoom: boolean | null = null;

  constructor(stream: Duplex, deps: CoreEndDeps) {
    const { clock, progress, isLocal } = deps;
    this.#deps = deps;
    this.#asks = new OpenAsks(clock, { max: 16, unsent: 'unanswered', expired: () => 'unanswered' });
    this.#link = new Link(stream, {
      clock,
      peer: 'the edge',
      progress,
      bounds: edgeLinkBounds,
      language: coreLanguage(isLocal),
      received: (message) => this.#received(message),
      heartbeat: () => this.#heartbeat(),
      ended: (fault) => this.#ended(fault),
    });
  }

  /** The address that it listens on; null: it does not listen yet. */
  get address(): EdgeAddress | null {
    return this.#address;
  }

  /** Sockets of modules, as of a second ago. */
  get sockets(): number {
    return this.#sockets;
  }

  /** From a probe to its answer; null: not measured yet. */
  get delayMs(): number | null {
    return this.#delayMs;
  }

  /** Resolves with why it keeps the certificate that it has; null: it has read the files again. */
  async reloadTls(): Promise<string | null> {
    const reloaded = await this.#asks.ask('reload-tls', edgeAnswerMsMax, (ask) => {
      this.#link.send({ kind: 'reload-tls', ask });
      return true;
    });
    return reloaded.ok ? reloaded.value : 'it does not answer';
  }

  /** Resolves with the number of sessions that are left. */
  async drain(perSecond: number, deadlineMs: number): Promise<number> {
    const drained = await this.#asks.ask('drain', deadlineMs + edgeAnswerMsMax, (ask) => {
      this.#link.send({ kind: 'drain', ask, perSecond, deadlineMs });
      return true;
    });
    return drained.ok ? drained.value : (this.#sessions?.size ?? 0);
  }

  /** Messages that were sent before still go. Resolves when the link has ended. */
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
        // An edge that is declined may have said more already.
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
    return isOfItsKind ? null : 'answered another order than the one it was given';
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
