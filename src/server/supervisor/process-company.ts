/**
 * A process among the others of its server: how it reaches them, whom the supervisor says to be there, and what it
 * does for those that are gone. Source: cluster.md, Several processes on one machine.
 */
import type { Socket } from 'node:net';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { UnixPeers } from '../../cluster/ipc/unix-peers.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { Log } from '../../core/ports/log.ts';
import type { PeerHost } from '../../core/ports/peers.ts';
import type { ProcessCompanyFacts, ProcessFacts, ProcessReport, ProcessTask } from './process-messages.ts';
import type { SharedParts } from '../bootstrap/records.ts';

/** A port whose connections the supervisor accepts. */
export interface HandedPort {
  take(socket: Socket): void;
  readonly socketCount: number;
}

/** What one process is told, and whom it can tell. */
export interface ProcessPlace {
  readonly task: ProcessTask;
  /** Whenever it changes, and now. One follows. */
  follow(told: (company: ProcessCompanyFacts) => void): void;
  report(report: ProcessReport): void;
  /** Who takes connections to the sleep port, and counts those it has. One does. */
  sleepPort(port: HandedPort): void;
}

export class ProcessCompany {
  readonly place: ProcessPlace;
  readonly peers: UnixPeers;
  readonly #clock: Clock;
  #facts: ProcessCompanyFacts = { processes: [], isStopping: false };
  #host: PeerHost | null = null;
  readonly #followers: (() => void)[] = [];
  #lastKeeper: MemberId | null = null;
  readonly #waitingForKeeper = new Set<(keeper: MemberId | null) => void>();

  constructor(place: ProcessPlace, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    const { member: self, socketDirectory: directory } = place.task;
    this.place = place;
    this.#clock = clock;
    const host: PeerHost = {
      answer: (question) => this.#hostThere.answer(question),
      heard: (notice, from) => this.#host?.heard(notice, from),
    };
    this.peers = new UnixPeers({ self, clock, log, directory, host });
    place.follow((company) => this.#changed(company));
  }

  /** All processes, as the supervisor has told it last. */
  get processes(): readonly ProcessFacts[] {
    return this.#facts.processes;
  }

  /** Those that live, this one among them. */
  get members(): readonly MemberId[] {
    return this.processes.flatMap(({ member }) => (member === null ? [] : [member]));
  }

  get isStopping(): boolean {
    return this.#facts.isStopping;
  }

  /** For `openRecords`. */
  shared(node: string): SharedParts {
    const { member, role } = this.place.task;
    const grew = (): void => this.peers.tell('everybody', { kind: 'log-grew' });
    return { member, node, isKeeper: role === 'keeper', grew };
  }

  /** Resolves when others can reach it; `host` answers them. */
  async open(host: PeerHost): Promise<void> {
    this.#host = host;
    await this.peers.listen();
    for (const told of this.#followers) told();
  }

  /** Told of every change of who is there. */
  onChange(told: () => void): void {
    this.#followers.push(told);
  }

  /** A member that will not come back. */
  isGone(member: MemberId): boolean {
    return !this.members.includes(member);
  }

  /** Null: there was none yet. */
  get lastKeeper(): MemberId | null {
    return this.#lastKeeper;
  }

  /** Null: none is up within `waitMs`. */
  async keeper(waitMs: number): Promise<MemberId | null> {
    return this.#keeperNow ?? this.#nextKeeper(waitMs);
  }

  close(): Promise<void> {
    return this.peers.close();
  }

  get #hostThere(): PeerHost {
    if (this.#host === null) throw new Error('nobody can ask before it is open');
    return this.#host;
  }

  get #keeperNow(): MemberId | null {
    return this.processes.find(({ role, state }) => role === 'keeper' && state === 'up')?.member ?? null;
  }

  #nextKeeper(waitMs: number): Promise<MemberId | null> {
    return new Promise((resolve) => {
      let giveUp: Cancel = () => undefined;
      const settle = (keeper: MemberId | null): void => {
        giveUp();
        this.#waitingForKeeper.delete(settle);
        resolve(keeper);
      };
      giveUp = this.#clock.after(waitMs, () => settle(null));
      this.#waitingForKeeper.add(settle);
    });
  }

  #changed(facts: ProcessCompanyFacts): void {
    this.#facts = facts;
    this.peers.members(this.members.map((member) => ({ member, socket: this.peers.socketOf(member) })));
    const keeper = this.#keeperNow;
    this.#lastKeeper = keeper ?? this.#lastKeeper;
    if (keeper !== null) for (const settle of Array.from(this.#waitingForKeeper)) settle(keeper);
    for (const told of this.#followers) told();
  }
}
