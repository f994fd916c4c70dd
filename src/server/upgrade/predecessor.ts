/**
 * The server that this process succeeds, as this one has it. It reports what it is, receives what it begins with, and
 * answers what still comes to the other one. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { assert } from '../../lib/assert.ts';
import { readVersion } from '../../lib/package-version.ts';
import { acceptedSocketOf, socketOf, type SocketHandle } from '../../lib/bound-sockets.ts';
import { adoptSecretMarkSeed } from '../../core/devices/device-access.ts';
import type { ArrivingSession } from '../bootstrap/gateways.ts';
import { storeFormat } from '../../storage/lmdb/store-format.ts';
import type { RunningServer } from '../bootstrap/server.ts';
import { withListeners } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import {
  handOverVersion,
  type KeptAnswer,
  type SessionRow,
  type SuccessorOrder,
  type SuccessorReport,
} from './hand-over-messages.ts';
import type { TakeOver } from './server-hand-over.ts';

/** The way to the other process. */
export interface PredecessorLine {
  /** Once, before anything comes. */
  follow(follower: PredecessorFollower): void;
  /** `sent` is called when the other one knows, or is gone. */
  report(report: SuccessorReport, sent?: () => void): void;
}

export interface PredecessorFollower {
  readonly ordered: (order: SuccessorOrder, socket: SocketHandle | null) => void;
  /** The other process is gone. */
  readonly ended: () => void;
}

/** That of a process whose parent is its predecessor. */
export function parentLine(): PredecessorLine {
  return {
    follow: ({ ordered, ended }) => {
      process.on('message', (order: SuccessorOrder, socket: SocketHandle | undefined) =>
        ordered(order, socket ?? null),
      );
      process.on('disconnect', ended);
    },
    report: (report, sent = () => undefined) => {
      if (process.connected) process.send?.(report, undefined, undefined, sent);
      else sent();
    },
  };
}

/** What this process starts with. */
export interface Inheritance {
  readonly takeOver: TakeOver;
  /** With the ports that the other server listens on where these settings ask for any. */
  readonly settings: Settings;
}

type TakeOverOrder = Extract<SuccessorOrder, { kind: 'take-over' }>;

export class Predecessor {
  readonly #line: PredecessorLine;
  readonly #sockets = new Map<string, SocketHandle>();
  readonly #answers: KeptAnswer[] = [];
  readonly #rows: SessionRow[] = [];
  /** Connections and requests that come before this process serves. */
  readonly #early: (() => void)[] = [];
  readonly #sleepSockets: SocketHandle[] = [];
  #server: RunningServer | null = null;
  #taken: (order: TakeOverOrder) => void = () => undefined;
  readonly #takenOver = new Promise<TakeOverOrder>((resolve) => (this.#taken = resolve));

  /** `abandoned`: it is gone, and has left nothing. */
  constructor(line: PredecessorLine, abandoned: () => void) {
    let isLeft = false;
    this.#line = line;
    void this.#takenOver.then(() => (isLeft = true));
    line.follow({
      ordered: (order, socket) => this.#ordered(order, socket),
      ended: () => {
        if (!isLeft) abandoned();
      },
    });
  }

  /** This process has its code, and its settings are in order. `dataDirectory`: absolute. */
  loaded(dataDirectory: string): void {
    const { pid } = process;
    const facts = { handOver: handOverVersion, version: readVersion(), pid, storeFormat, dataDirectory };
    this.#line.report({ kind: 'loaded', ...facts });
  }

  /** Resolves when it has left everything. */
  async inherit(settings: Settings): Promise<Inheritance> {
    const { predecessor, listeners, secretMarkSeed } = await this.#takenOver;
    adoptSecretMarkSeed(secretMarkSeed);
    const own = withListeners(settings, listeners);
    const isSamePort =
      own.sleep.listen.host === listeners.sleep.host && own.sleep.listen.port === listeners.sleep.port;
    if (!isSamePort) for (const socket of this.#sleepSockets.splice(0)) socket.close();
    const sessions = this.#rows.flatMap((row) => this.#arriving(row));
    // Their sessions have ended meanwhile.
    for (const handle of this.#sockets.values()) handle.close();
    this.#sockets.clear();
    const takeOver = { predecessor, sleepSockets: this.#sleepSockets, sessions, answers: this.#answers };
    return { takeOver, settings: own };
  }

  /** From now on this process is the server, and the other one is not. */
  serve(server: RunningServer, sessions: number): void {
    this.#server = server;
    this.#line.report({ kind: 'ready', sessions });
    for (const act of this.#early.splice(0)) act();
  }

  /** `sent` is called when the other one knows, or is gone. */
  fail(reason: string, sent: () => void): void {
    this.#line.report({ kind: 'failed', reason }, sent);
  }

  #ordered(order: SuccessorOrder, socket: SocketHandle | null): void {
    switch (order.kind) {
      case 'listening-socket':
        if (socket !== null) this.#sleepSockets.push(socket);
        return;
      case 'session-socket':
        if (socket !== null) this.#sockets.set(order.sessionId, socket);
        return;
      case 'sessions-over':
        return this.#close(order.sessionIds);
      case 'answers':
        return void this.#answers.push(...order.answers);
      case 'sessions':
        return void this.#rows.push(...order.sessions);
      case 'take-over':
        return this.#taken(order);
      case 'connection':
        return this.#whenServing((server) => {
          if (socket !== null) server.takeConnection(acceptedSocketOf(socket));
        });
      case 'request': {
        const { id, request } = order;
        return this.#whenServing(
          (server) =>
            void server.relayed(request).then((answer) => this.#line.report({ kind: 'answer', id, answer })),
        );
      }
    }
  }

  #close(sessionIds: readonly string[]): void {
    for (const sessionId of sessionIds) {
      this.#sockets.get(sessionId)?.close();
      this.#sockets.delete(sessionId);
    }
  }

  #whenServing(act: (server: RunningServer) => void): void {
    const now = (): void => {
      assert(this.#server !== null, 'this process serves');
      act(this.#server);
    };
    if (this.#server === null) this.#early.push(now);
    else now();
  }

  /** None: its socket was closed on the way. */
  #arriving({ moved, state }: SessionRow): ArrivingSession[] {
    const handle = this.#sockets.get(moved.sessionId);
    this.#sockets.delete(moved.sessionId);
    return handle === undefined ? [] : [{ moved, state, socket: socketOf(handle), isFresh: true }];
  }
}
