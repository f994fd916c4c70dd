/**
 * The edge's end of the link: the listener's requests to the core, and the core's orders to the listener. It outlives links and cores:
 * without a core logins wait, and the next core receives every open session.
 * Lifecycle of a link: greeting -> bringing -> linked. Source: scale-out.md, Edges.
 */
import type { Duplex } from 'node:stream';
import { assert } from '../lib/assert.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { Link } from '../lib/link/link.ts';
import { LinkLog } from '../lib/link/link-log.ts';
import type { LoopProgress } from '../lib/loop-progress.ts';
import type {
  Admission,
  SessionTicket,
  SleepAdmissions,
  SleepConnection,
} from '../core/ports/device-sessions.ts';
import { linkHeartbeatMs, linkTallyMs } from '../model/limits.ts';
import type { SleepEndReason, SleepLogin } from '../model/sleep.ts';
import { sentenceCharactersMax } from '../protocol/edge-link/edge-fields.ts';
import {
  edgeLinkVersion,
  type CoreHello,
  type CoreMessage,
  type SentByEdge,
} from '../protocol/edge-link/edge-message.ts';
import { linkBounds, linkLogBounds } from '../model/link-bounds.ts';
import { edgeLanguage } from './edge-language.ts';
import type { EdgeIdentity, EdgePort } from './edge-port.ts';
import { EdgeSession } from './edge-session.ts';
import { EdgeTelemetry } from './edge-telemetry.ts';
import { HeldSessions } from './held-sessions.ts';
import { WaitingLogins } from './waiting-logins.ts';

export interface EdgeEndDeps {
  readonly clock: Clock;
  readonly progress: LoopProgress;
  readonly identity: EdgeIdentity;
  /** A core has answered the hello: the edge may accept modules. */
  onLinked(core: CoreHello): void;
  /** Called once for each link. `fault`: a sentence; null: an orderly end. */
  onEnd(fault: string | null): void;
}

export class EdgeEnd implements SleepAdmissions<Promise<Admission>> {
  readonly telemetry: EdgeTelemetry;
  /** The core writes these lines, under the name of the edge. Without a link lines are lost. */
  readonly log: LinkLog;
  readonly #deps: EdgeEndDeps;
  readonly #sessions = new HeldSessions();
  readonly #logins: WaitingLogins;
  readonly #stopTimers: readonly Cancel[];
  #link: Link<SentByEdge, CoreMessage> | null = null;
  #stage: 'away' | 'greeting' | 'bringing' | 'linked' = 'away';
  #isBringDue = false;
  #port: EdgePort | null = null;

  constructor(deps: EdgeEndDeps) {
    this.#deps = deps;
    const send = (message: SentByEdge): void => this.#send(message);
    this.#logins = new WaitingLogins((number) => this.#sessions.has(number), send);
    this.telemetry = new EdgeTelemetry(() => this.#flushTally());
    this.log = new LinkLog(linkLogBounds, send, () => this.#link?.isCongested ?? true);
    this.#stopTimers = [
      deps.clock.every(linkHeartbeatMs, () => this.#turn()),
      deps.clock.every(linkTallyMs, () => this.#flushTally()),
    ];
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** `stream`: to a core. The previous link has ended. */
  attach(stream: Duplex): void {
    assert(this.#link === null, 'an edge has one link at a time');
    const { clock, progress, identity } = this.#deps;
    this.#stage = 'greeting';
    this.#link = new Link(stream, {
      clock,
      peer: 'the core',
      progress,
      bounds: linkBounds,
      language: edgeLanguage,
      received: (message) => this.#received(message),
      heartbeat: () => undefined,
      drained: () => this.#scheduleSessions(),
      ended: (fault) => this.#linkEnded(fault),
    });
    const address = this.#port?.address ?? identity.address;
    this.#send({ kind: 'hello', version: edgeLinkVersion, ...identity, address });
  }

  /** The edge listens, and the core may give orders from now on. Null: it has closed its port. */
  listening(port: EdgePort | null): void {
    this.#port = port;
    this.#announceListening();
  }

  admit(
    login: SleepLogin,
    sessionKey: string,
    connection: SleepConnection,
    hasRoom: boolean,
    address: () => string,
  ): Promise<Admission> {
    const question = { login, sessionKey, connection, hasRoom, address: address() };
    return this.#logins.ask(question, this.#stage === 'linked');
  }

  ended(ticket: SessionTicket, reason: SleepEndReason, lastHeartbeatAt: number): void {
    assert(ticket instanceof EdgeSession, 'the tickets of an edge are its own');
    if (this.#sessions.ended(ticket, reason, lastHeartbeatAt))
      this.#send({ kind: 'ended', number: ticket.number, reason, lastHeartbeatAt });
  }

  /** Sends pending messages, then ends the link; sessions stay open. Resolves when it has ended. */
  async end(): Promise<void> {
    for (const stop of this.#stopTimers) stop();
    this.#flushTally();
    await this.#link?.end();
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
        this.#logins.answer(message.number, message.refusal);
        break;
      case 'wake':
        this.#wake(message);
        break;
      case 'close': {
        const session = this.#sessions.find(message.number);
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
      case 'balance':
        this.#port?.balance(message.othersHaveRoom);
        break;
      case 'probe':
        this.#send({ kind: 'probed' });
        break;
    }
    return null;
  }

  #greeted(core: CoreHello): void {
    this.#stage = 'bringing';
    this.#announceListening();
    this.#deps.onLinked(core);
    this.#sendSessions();
  }

  #announceListening(): void {
    if (this.#port === null || this.#stage === 'away' || this.#stage === 'greeting') return;
    this.#send({ kind: 'listening', ...this.#port.address });
    this.#send({ kind: 'counts', sockets: this.#port.sockets });
  }

  /** Sends one batch of sessions a turn, so that wakeups are carried while a new core receives all of them. */
  #sendSessions(): void {
    if (this.#stage !== 'bringing' || this.#link?.isCongested !== false) return;
    const sessions = this.#sessions.nextBrought();
    if (sessions.length > 0) {
      this.#send({ kind: 'bring', sessions });
      return this.#scheduleSessions();
    }
    this.#send({ kind: 'brought' });
    this.#stage = 'linked';
    this.#logins.askAgain();
  }

  #scheduleSessions(): void {
    if (this.#stage !== 'bringing' || this.#isBringDue) return;
    this.#isBringDue = true;
    setImmediate(() => {
      this.#isBringDue = false;
      this.#sendSessions();
    });
  }

  #admitted({ number, sessionId, epoch, secretMark }: Extract<CoreMessage, { kind: 'admitted' }>): void {
    const question = this.#logins.find(number);
    if (question === null) {
      // The core has opened a new session for one that this edge sent it.
      this.#sessions.find(number)?.renew(sessionId, epoch, secretMark);
      return;
    }
    const session = new EdgeSession(number, question, sessionId, epoch, secretMark);
    this.#sessions.add(session);
    this.#logins.answer(number, session);
  }

  #wake({ number, ask, customData }: Extract<CoreMessage, { kind: 'wake' }>): void {
    const link = this.#link;
    const session = this.#sessions.find(number);
    if (session === null) return this.#send({ kind: 'woken', ask, result: 'refused' });
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
    if (this.#link === null) return this.#logins.forgetAbandoned();
    this.log.heartbeat();
    if (this.#stage === 'linked' && !this.#link.isCongested)
      for (const message of this.#sessions.newHeartbeats()) this.#send(message);
    if (this.#port !== null && this.#stage !== 'greeting')
      this.#send({ kind: 'counts', sockets: this.#port.sockets });
  }

  #flushTally(): void {
    if (this.#stage !== 'linked') return;
    const tally = this.telemetry.next();
    if (tally !== null) this.#send({ kind: 'tally', ...tally });
  }

  #linkEnded(fault: string | null): void {
    this.#link = null;
    this.#stage = 'away';
    this.#sessions.forget();
    this.#deps.onEnd(fault);
  }
}
