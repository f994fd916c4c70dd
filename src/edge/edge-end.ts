/**
 * The edge's end of the link: the listener's questions to the core, and the core's orders to the listener. It outlives
 * links and cores: while none is there logins wait, and the next one is brought every session that is open.
 * Lifecycle of a link: greeting -> bringing -> linked. Source: scale-out.md, Edges.
 */
import type { Duplex } from 'node:stream';
import { assert } from '../lib/assert.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { Link } from '../lib/link/link.ts';
import { LinkLog } from '../lib/link/link-log.ts';
import type { Log } from '../lib/log.ts';
import type { LoopProgress } from '../lib/loop-progress.ts';
import type {
  Admission,
  SessionTicket,
  SleepAdmissions,
  SleepConnection,
} from '../core/ports/device-sessions.ts';
import { edgeBringSessionsMax, edgeHeartbeatsMax, linkHeartbeatMs, linkTallyMs } from '../model/limits.ts';
import type { SleepEndReason, SleepLogin } from '../model/sleep.ts';
import type { SentByEdge } from '../protocol/edge-link/edge-codec.ts';
import { sentenceCharactersMax } from '../protocol/edge-link/edge-fields.ts';
import {
  edgeLinkVersion,
  type BroughtSession,
  type CoreHello,
  type CoreMessage,
  type EdgeAddress,
  type EdgeCounts,
  type EdgeHello,
} from '../protocol/edge-link/edge-message.ts';
import { edgeLanguage, edgeLinkBounds, edgeLogBounds } from './edge-language.ts';
import { EdgeSession, type OpenAdmission } from './edge-session.ts';
import { EdgeTelemetry } from './edge-telemetry.ts';

export type EdgeIdentity = Omit<EdgeHello, 'kind' | 'version'>;

/** The edge's listener, for orders of the core. */
export interface EdgePort {
  readonly address: EdgeAddress;
  readonly counts: EdgeCounts;
  /** Returns why it keeps the certificate that it has; null: it has read the files again. */
  reloadTls(): string | null;
  /** Resolves with the number of sessions that are left. Never rejects. */
  drain(perSecond: number, deadlineMs: number): Promise<number>;
}

export interface EdgeEndDeps {
  readonly clock: Clock;
  readonly progress: LoopProgress;
  readonly identity: EdgeIdentity;
  /** A core has answered the hello: modules can be accepted. */
  onLinked(core: CoreHello): void;
  /** Once for each link. `fault`: a sentence; null: one of the two hung up in order. */
  onEnd(fault: string | null): void;
}

type EdgeLink = Link<SentByEdge, CoreMessage>;

export class EdgeEnd implements SleepAdmissions<Promise<Admission>> {
  readonly telemetry: EdgeTelemetry;
  /** Written by the core, under the name of the edge; lines are lost while there is no link. */
  readonly log: Log;
  readonly #deps: EdgeEndDeps;
  readonly #log: LinkLog;
  readonly #sessions = new Map<number, EdgeSession>();
  readonly #asked = new Map<number, OpenAdmission>();
  /** Sessions that ended while no core knew of them; as many as there were at the end of the link. */
  #ended: BroughtSession[] = [];
  readonly #stopTimers: readonly Cancel[];
  #link: EdgeLink | null = null;
  #stage: 'away' | 'greeting' | 'bringing' | 'linked' = 'away';
  /** Sessions that the core is still to be brought. */
  #left: Iterator<EdgeSession> = [][Symbol.iterator]();
  #isBringDue = false;
  #port: EdgePort | null = null;
  #numbers = 0;

  constructor(deps: EdgeEndDeps) {
    const { clock } = deps;
    this.#deps = deps;
    const send = (message: SentByEdge): void => this.#send(message);
    this.telemetry = new EdgeTelemetry(() => this.#flushTally());
    this.log = this.#log = new LinkLog(edgeLogBounds, send, () => this.#link?.isCongested ?? true);
    this.#stopTimers = [
      clock.every(linkHeartbeatMs, () => this.#turn()),
      clock.every(linkTallyMs, () => this.#flushTally()),
    ];
  }

  get isLinked(): boolean {
    return this.#link !== null;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** A stream to a core; the one before it has ended. */
  attach(stream: Duplex): void {
    assert(this.#link === null, 'an edge has one link at a time');
    const { clock, progress, identity } = this.#deps;
    this.#stage = 'greeting';
    this.#link = new Link(stream, {
      clock,
      peer: 'the core',
      progress,
      bounds: edgeLinkBounds,
      language: edgeLanguage,
      received: (message) => this.#received(message),
      heartbeat: () => undefined,
      drained: () => this.#bringSoon(),
      ended: (fault) => this.#linkEnded(fault),
    });
    const address = this.#port?.address ?? identity.address;
    this.#send({ kind: 'hello', version: edgeLinkVersion, ...identity, address });
  }

  /** It listens; from now on the core can give orders. */
  listening(port: EdgePort): void {
    this.#port = port;
    this.#sayListening();
  }

  admit(
    login: SleepLogin,
    sessionKey: string,
    connection: SleepConnection,
    hasRoom: boolean,
    address: () => string,
  ): Promise<Admission> {
    const peer = address();
    return new Promise((answer) =>
      this.#ask({ login, sessionKey, connection, hasRoom, address: peer, answer }),
    );
  }

  ended(ticket: SessionTicket, reason: SleepEndReason, lastHeartbeatAt: number): void {
    assert(ticket instanceof EdgeSession, 'the tickets of an edge are its own');
    const { number } = ticket;
    if (!this.#sessions.delete(number)) return;
    if (ticket.isKnown) this.#send({ kind: 'ended', number, reason, lastHeartbeatAt });
    else this.#ended.push(ticket.describe(lastHeartbeatAt, reason));
  }

  /** What was sent before still goes; sessions stay as they are. Resolves when the link has ended. */
  async end(): Promise<void> {
    for (const stop of this.#stopTimers) stop();
    this.#flushTally();
    await this.#link?.end();
  }

  #ask(admission: OpenAdmission): void {
    const number = this.#nextNumber();
    this.#asked.set(number, admission);
    if (this.#stage === 'linked') this.#sendAdmission(number, admission);
  }

  #sendAdmission(number: number, { login, sessionKey, hasRoom, address }: OpenAdmission): void {
    const line = `${login.signedText} ${Buffer.from(login.mac).toString('hex')}`;
    this.#send({ kind: 'admit', number, line, sessionKey, hasRoom, address });
  }

  /** Once each, until there were 2^32: then those that are free come again. */
  #nextNumber(): number {
    do this.#numbers = (this.#numbers + 1) >>> 0;
    while (this.#sessions.has(this.#numbers) || this.#asked.has(this.#numbers));
    return this.#numbers;
  }

  #send(message: SentByEdge): void {
    this.#link?.send(message);
  }

  #received(message: CoreMessage): string | null {
    switch (message.kind) {
      case 'heartbeat':
        break;
      case 'hello':
        this.#greeted(message);
        break;
      case 'declined':
        return `sent this edge away: ${message.sentence}`;
      case 'admitted':
        this.#admitted(message);
        break;
      case 'refused':
        this.#answer(message.number, message.refusal);
        break;
      case 'wake':
        this.#wake(message);
        break;
      case 'close': {
        const session = this.#sessions.get(message.number);
        this.#sessions.delete(message.number);
        session?.connection.close(message.reason);
        break;
      }
      case 'drain':
        void this.#drain(message);
        break;
      case 'reload-tls': {
        // A listener that does not listen yet reads the files when it does.
        const problem = this.#port?.reloadTls()?.slice(0, sentenceCharactersMax) ?? null;
        this.#send({ kind: 'tls-reloaded', ask: message.ask, problem });
        break;
      }
      case 'probe':
        this.#send({ kind: 'probed' });
        break;
    }
    return null;
  }

  #greeted(core: CoreHello): void {
    this.#stage = 'bringing';
    this.#left = this.#sessions.values();
    this.#sayListening();
    this.#deps.onLinked(core);
    this.#bring();
  }

  #sayListening(): void {
    if (this.#port === null || this.#stage === 'away' || this.#stage === 'greeting') return;
    this.#send({ kind: 'listening', address: this.#port.address });
    this.#send({ kind: 'counts', counts: this.#port.counts });
  }

  /** So many sessions a turn: a core that comes back is brought all of them, while they have to be woken. */
  #bring(): void {
    if (this.#stage !== 'bringing' || this.#link?.isCongested !== false) return;
    const sessions = this.#nextBrought();
    if (sessions.length > 0) {
      this.#send({ kind: 'bring', sessions });
      return this.#bringSoon();
    }
    this.#send({ kind: 'brought' });
    this.#stage = 'linked';
    this.#askAgain();
  }

  #bringSoon(): void {
    if (this.#stage !== 'bringing' || this.#isBringDue) return;
    this.#isBringDue = true;
    setImmediate(() => {
      this.#isBringDue = false;
      this.#bring();
    });
  }

  #nextBrought(): BroughtSession[] {
    const brought: BroughtSession[] = [];
    while (brought.length < edgeBringSessionsMax) {
      const next = this.#left.next();
      if (next.done === true) break;
      const { value: session } = next;
      session.reportedAt = session.connection.lastHeartbeatAt;
      brought.push(session.describe(session.reportedAt, null));
    }
    return brought.length > 0 ? brought : this.#ended.splice(0, edgeBringSessionsMax);
  }

  /** Under numbers of their own: the core before may have answered some, and the answer was lost. */
  #askAgain(): void {
    const waiting = [...this.#asked.values()];
    this.#asked.clear();
    for (const admission of waiting)
      if (admission.connection.isOpen) this.#ask(admission);
      else admission.answer('busy');
  }

  #admitted({ number, sessionId, epoch, secretMark }: Extract<CoreMessage, { kind: 'admitted' }>): void {
    const asked = this.#asked.get(number);
    if (asked === undefined) {
      // A session that was brought, and has become a new one.
      this.#sessions.get(number)?.renew(sessionId, epoch, secretMark);
      return;
    }
    const session = new EdgeSession(number, asked, sessionId, epoch, secretMark);
    this.#sessions.set(number, session);
    this.#answer(number, session);
  }

  #answer(number: number, admission: Admission): void {
    this.#asked.get(number)?.answer(admission);
    this.#asked.delete(number);
  }

  #wake({ number, ask, customData }: Extract<CoreMessage, { kind: 'wake' }>): void {
    const link = this.#link;
    const session = this.#sessions.get(number);
    if (session === undefined) return this.#send({ kind: 'woken', ask, result: 'refused' });
    void session.connection.wake(customData).then((result) => {
      link?.send({ kind: 'woken', ask, result: result === 'unreachable' ? 'refused' : result });
    });
  }

  async #drain({ ask, perSecond, deadlineMs }: Extract<CoreMessage, { kind: 'drain' }>): Promise<void> {
    const link = this.#link;
    const left = (await this.#port?.drain(perSecond, deadlineMs)) ?? 0;
    link?.send({ kind: 'drained', ask, left });
  }

  #turn(): void {
    if (this.#link === null) this.#forgetAbandoned();
    else if (this.#stage === 'linked' && !this.#link.isCongested) this.#reportHeartbeats();
    this.#log.heartbeat();
    if (this.#port !== null && this.#stage !== 'greeting')
      this.#send({ kind: 'counts', counts: this.#port.counts });
  }

  /** Logins that have been refused for want of a core. */
  #forgetAbandoned(): void {
    for (const [number, { connection }] of this.#asked) if (!connection.isOpen) this.#answer(number, 'busy');
  }

  /** Looks through all sessions, so that a heartbeat itself costs nothing more. */
  #reportHeartbeats(): void {
    const bySecond = new Map<number, number[]>();
    for (const session of this.#sessions.values()) {
      const at = session.connection.lastHeartbeatAt;
      if (at === session.reportedAt) continue;
      session.reportedAt = at;
      const numbers = bySecond.get(at);
      if (numbers === undefined) bySecond.set(at, [session.number]);
      else numbers.push(session.number);
    }
    for (const [at, numbers] of bySecond)
      for (let from = 0; from < numbers.length; from += edgeHeartbeatsMax)
        this.#send({
          kind: 'heartbeats',
          at,
          numbers: Uint32Array.from(numbers.slice(from, from + edgeHeartbeatsMax)),
        });
  }

  #flushTally(): void {
    if (this.#stage !== 'linked') return;
    const tally = this.telemetry.next();
    if (tally !== null) this.#send({ kind: 'tally', tally });
  }

  #linkEnded(fault: string | null): void {
    this.#link = null;
    this.#stage = 'away';
    for (const session of this.#sessions.values()) session.forget();
    this.#deps.onEnd(fault);
  }
}
