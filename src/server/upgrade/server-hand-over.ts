/**
 * A server that leaves what it has to the next one, which is another process, or, where that fails, this process once
 * more. In this order: what cannot be moved is drained; what comes is held; the sessions are let go of; the store is closed.
 * Only the listening sockets, the sessions' sockets and held requests outlive it here. Source: docs/adr/0027.
 */
import type { Socket } from 'node:net';
import { handleOf, type SocketHandle } from '../../lib/bound-sockets.ts';
import { handOverLoginMsMax } from '../../model/upgrade-limits.ts';
import { describeSession } from '../../core/devices/admit-session.ts';
import type { RequestRelay } from '../../gateways/api/request-relay.ts';
import type { HandedConnection } from '../../edge/sleeping-connection.ts';
import type { ControlPlane } from '../bootstrap/control-plane.ts';
import type { ArrivingSession, Gateways } from '../bootstrap/gateways.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import type { ListenerName } from '../config/settings-schema.ts';
import { AnswerMemories } from './answer-memories.ts';
import type { KeptAnswer } from './hand-over-messages.ts';

/** What the next server begins with. */
export interface TakeOver {
  /** The process that leaves it the lock of the data directory. */
  readonly predecessor: number;
  /** The listening sockets of the sleep port; none: they are to be made. */
  readonly sleepSockets: readonly SocketHandle[];
  readonly sessions: readonly ArrivingSession[];
  readonly answers: readonly KeptAnswer[];
}

export interface HandOverDeps {
  readonly context: ServerContext;
  readonly gateways: Gateways;
  readonly listeners: Readonly<Record<ListenerName, string>>;
  /** Null: another process has it. */
  readonly controlPlane: ControlPlane | null;
  /** Resolves when what other processes have asked is answered; what they ask from now on waits for the next server. */
  leavePeers(): Promise<void>;
  /** The sockets of the sleep port that were lent go back. */
  giveBackSockets(): void;
  /** Commits what is outstanding and closes everything but the gateways; the lock of the directory stays. */
  closeRest(): Promise<void>;
}

/** A session's socket before it is let go of, and after. */
export interface LiveSocket {
  /** Of the device's session: what tells it from the others. */
  readonly sessionId: string;
  readonly handle: SocketHandle;
}

export class ServerHandOver {
  readonly listeners: HandOverDeps['listeners'];
  readonly #deps: HandOverDeps;
  readonly #memories: AnswerMemories;
  #sessions: readonly ArrivingSession[] = [];

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
    this.listeners = deps.listeners;
    this.#memories = new AnswerMemories(deps.context);
  }

  /** True: sleep sessions are TLS, which no other process can go on with, and are drained. */
  get isEncrypted(): boolean {
    return this.#sleep.isEncrypted;
  }

  get sleepSockets(): readonly SocketHandle[] {
    return this.#sleep.sockets.ownHandles;
  }

  get relay(): RequestRelay {
    return this.#deps.gateways.api.relay;
  }

  /** The sockets of the sessions that are here now and can be moved. They go on being served here. */
  *liveSockets(): Generator<LiveSocket> {
    for (const { ticket, socket } of this.#sleep.movable()) {
      const handle = handleOf(socket as Socket);
      if (ticket !== null && handle !== null) yield { sessionId: ticket.sessionId, handle };
    }
  }

  *liveSessionIds(): Generator<string> {
    for (const { sessionId } of this.liveSockets()) yield sessionId;
  }

  /** Those known now; later ones come again with them. */
  answers(): Iterable<KeptAnswer> {
    return this.#memories.answered();
  }

  /** Sleep connections that come are held from here on where no session of theirs can be moved. */
  async drain(): Promise<void> {
    if (this.isEncrypted) await this.#holdSleep();
    const { gateways, controlPlane } = this.#deps;
    // The next server takes up the calls whose legs are closed here.
    await Promise.all([gateways.drainUnmovable(), controlPlane?.calls.drain()]);
  }

  /** What comes is held from here on. Resolves when what came before is answered. */
  async hold(): Promise<void> {
    const { gateways } = this.#deps;
    if (!this.isEncrypted) await this.#holdSleep();
    const held = gateways.api.hold();
    gateways.endWaits();
    this.#deps.controlPlane?.endWaits();
    await held;
    // Requests here may have asked others, which may ask back.
    await this.#deps.leavePeers();
  }

  /** Lets go of every session: what arrives for them waits in the kernel. */
  letGo(): TakeOver {
    this.#sessions = this.#sleep.handOver().flatMap((connection) => this.#describe(connection));
    const answers = [...this.answers()];
    const { sleepSockets } = this;
    return { predecessor: process.pid, sleepSockets, sessions: this.#sessions, answers };
  }

  /** Commits what is outstanding, and closes everything but what the next server begins with. */
  async close(): Promise<void> {
    await this.#deps.gateways.release();
    await this.#deps.closeRest();
  }

  /** Another server has the sessions, in another process: what this one has of their sockets closes, and nobody sees it. */
  finish(): void {
    for (const { socket } of this.#sessions) socket.destroy();
    this.#sessions = [];
    void this.#sleep.close();
  }

  /** Sleep connections that are accepted here all the same, and those that were held. */
  passConnectionsOn(next: (socket: Socket) => void): void {
    this.#sleep.passOn(next);
  }

  /** Callers that come now come to the server that goes on. */
  async stopListening(): Promise<void> {
    await this.#deps.gateways.api.stopListening();
  }

  /** Ends the connections of callers, answered or not. */
  async closeApi(): Promise<void> {
    await this.#deps.gateways.api.close();
  }

  /** Of callers. */
  get connectionCount(): number {
    return this.#deps.context.connections.api.count;
  }

  /** This process goes on with the sessions: only connections without one are given up. */
  abandonPending(): void {
    this.#sleep.abandon();
  }

  #holdSleep(): Promise<void> {
    this.#deps.giveBackSockets();
    return this.#sleep.hold(handOverLoginMsMax);
  }

  get #sleep() {
    return this.#deps.gateways.sleepListener;
  }

  /** None: it has lost its device within the same turn. */
  #describe({ ticket, state, socket }: HandedConnection): ArrivingSession[] {
    const moved = describeSession(this.#deps.context.directory, ticket);
    if (moved !== null) return [{ moved, state, socket: socket as Socket, isFresh: false }];
    (socket as Socket).destroy();
    return [];
  }
}
