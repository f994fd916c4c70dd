/**
 * The other processes of one machine, over Unix sockets. Each listens on one of its own and dials all others: its
 * questions and notices go the way it dialled, so that no two have to agree on one connection. Who lives is set from
 * outside. Only the server's own user can enter the directory of the sockets, and both ends speak one version of the
 * messages, so a message is not checked once the hello was. A member may go on in another process, which listens in its
 * place: what is asked in between waits for that.
 * Source: cluster.md, Several processes on one machine.
 */
import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { assert } from '../../lib/assert.ts';
import { settlesWithin, type Clock } from '../../lib/clock.ts';
import type { Gathered } from '../../lib/gathered.ts';
import { fail, type Result } from '../../lib/result.ts';
import { encodePeerMessage } from '../../protocol/cluster/peer-message.ts';
import type { MemberId } from '../../model/cluster.ts';
import { processesMax } from '../../model/limits.ts';
import { peerLeaveMsMax } from '../../model/upgrade-limits.ts';
import type {
  AcceptedWakeup,
  PeerAnswer,
  PeerFailure,
  PeerKind,
  PeerNotice,
  PeerQuestion,
} from '../../model/peer.ts';
import type { Log } from '../../lib/log.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import { gatherAccepted } from './accepted-notices.ts';
import { UnixLink } from './unix-link.ts';
import { UnixPeerConnection } from './unix-peer-connection.ts';

export interface UnixPeersDeps {
  readonly self: MemberId;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: PeerHost;
  /** Of the sockets of all processes; made, if it is not there, and closed to other users. */
  readonly directory: string;
}

/** A living member and its socket's path. */
export interface UnixMember {
  readonly member: MemberId;
  readonly socket: string;
}

/** Longest path of a Unix socket that every system takes. */
const pathBytesMax = 103;

export class UnixPeers implements Peers {
  readonly self: MemberId;
  /** The path that this process listens on: `<directory>/<process>-<incarnation>.sock`. */
  readonly socket: string;
  readonly #deps: UnixPeersDeps;
  readonly #server: Server;
  readonly #links = new Map<MemberId, UnixLink>();
  readonly #connections = new Set<UnixPeerConnection>();
  readonly #accepted: Gathered<AcceptedWakeup>;
  #noticesDropped = 0;
  /** Null: it listens, or has not begun to. */
  #unlistened: Promise<unknown> | null = null;
  #isClosed = false;

  constructor(deps: UnixPeersDeps) {
    this.self = deps.self;
    this.#deps = deps;
    this.socket = this.socketOf(deps.self);
    this.#accepted = gatherAccepted(deps.clock, (notice) => this.#notifyAll(notice));
    this.#server = createServer((socket) => {
      this.#connections.add(
        new UnixPeerConnection(socket, this.#deps, (connection) => this.#connections.delete(connection)),
      );
    });
    this.#server.maxConnections = processesMax * 2;
  }

  /** Notices for which there was no room, or nobody. */
  get noticesDropped(): number {
    return this.#noticesDropped;
  }

  /** Resolves when others can dial; rejects with a sentence when they cannot. */
  async listen(): Promise<void> {
    const path = this.socket;
    if (Buffer.byteLength(path) > pathBytesMax)
      throw new Error(`${path} is longer than the ${pathBytesMax} bytes that the path of a socket may have`);
    await mkdir(this.#deps.directory, { recursive: true, mode: 0o700 });
    await chmod(this.#deps.directory, 0o700);
    // A process that went on as this member, and was killed, has left it.
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ path }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) =>
          this.#deps.log.error({ error: error.message }, 'the socket of this member'),
        );
        resolve();
      });
    });
    await chmod(path, 0o600);
  }

  /** The path that a member of these processes listens on. */
  socketOf(member: MemberId): string {
    return join(this.#deps.directory, socketName(member));
  }

  /** The living members, this one among them or not. What is open with all others is settled. */
  members(list: readonly UnixMember[]): void {
    if (this.#isClosed) return;
    const living = new Set(list.map(({ member }) => member));
    for (const member of this.#links.keys()) if (!living.has(member)) this.#lose(member);
    for (const { member, socket } of list)
      if (member !== this.self && !this.#links.has(member))
        this.#links.set(member, new UnixLink(member, socket, this.#deps));
  }

  alive(): readonly MemberId[] {
    return [this.self, ...this.#links.keys()];
  }

  isAlive(member: MemberId): boolean {
    return member === this.self || this.#links.has(member);
  }

  ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    const link = this.#links.get(member);
    return link === undefined ? Promise.resolve(fail('nobody')) : link.ask(question, waitMs);
  }

  notify(to: MemberId | 'everybody', notice: PeerNotice): void {
    if (to !== 'everybody') this.#notify(this.#links.get(to), this.#encode(notice));
    else if (notice.kind === 'wakeups-accepted')
      for (const wakeup of notice.wakeups) this.#accepted.add(wakeup);
    else this.#notifyAll(notice);
  }

  /**
   * Another process goes on as this member: the others ask nothing here any more, and dial anew when they have their answers.
   * Resolves when they have, within `peerLeaveMsMax`.
   */
  async leave(): Promise<void> {
    for (const connection of this.#connections) connection.leave();
    await settlesWithin(this.#deps.clock, peerLeaveMsMax, this.#unlisten());
  }

  /** What is open is settled, and the socket is gone. */
  async close(): Promise<void> {
    this.#accepted.close();
    this.members([]);
    this.#isClosed = true;
    for (const connection of this.#connections) connection.cut();
    await this.#unlisten();
  }

  /** The path is free at once. Resolves when no connection is left. */
  #unlisten(): Promise<unknown> {
    return (this.#unlistened ??= new Promise((resolve) => {
      this.#server.close(resolve);
    }));
  }

  #notifyAll(notice: PeerNotice): void {
    const bytes = this.#encode(notice);
    for (const link of this.#links.values()) this.#notify(link, bytes);
  }

  #encode(notice: PeerNotice): Uint8Array {
    return encodePeerMessage({ kind: 'notice', from: this.self, notice });
  }

  #notify(link: UnixLink | undefined, bytes: Uint8Array): void {
    if (link?.notify(bytes) !== true) this.#noticesDropped += 1;
  }

  #lose(member: MemberId): void {
    this.#links.get(member)?.gone();
    this.#links.delete(member);
    for (const connection of this.#connections) if (connection.member === member) connection.cut();
  }
}

function socketName(member: MemberId): string {
  const [, number, incarnation] = /\/(\d+)@([^/@]+)$/u.exec(member) ?? [];
  assert(number !== undefined && incarnation !== undefined, 'a member has a process and an incarnation');
  return `${number}-${incarnation}.sock`;
}
